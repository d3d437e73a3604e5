"""What a run prints: text with a plotted curve, JSON, a page, a table."""
