"""What names and expressions stand for: text as pieces, collections, objects, modules, and what they look like."""
