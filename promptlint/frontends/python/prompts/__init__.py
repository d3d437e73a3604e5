"""Where values become prompts: requests, messages, histories, and the segments of a layout."""
