"""What a cache can reuse of a layout, per scope and profile."""
