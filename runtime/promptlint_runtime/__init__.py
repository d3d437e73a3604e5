"""The replay engine: a paged, prefix-caching runtime that measures what promptlint predicts."""
