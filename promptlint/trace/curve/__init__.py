"""Hit ratio as a function of cache size, or of lifetime, in one pass over a log."""
