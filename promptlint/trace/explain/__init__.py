"""Why requests missed: what changed, where, of which kind, and what it cost."""
