"""Replay on servers: OpenAI-compatible ones (vLLM, SGLang, llama.cpp, hosted) and Anthropic's API."""
