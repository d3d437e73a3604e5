"""Tokenizers, exact where a vocabulary is installed, and counts cached by content."""
