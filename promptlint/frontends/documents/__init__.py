"""Prompts kept as documents: prompty, dotprompt, YAML, JSON, TOML, Markdown and text."""
