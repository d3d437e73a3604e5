"""Python: what a program assembles into prompts, followed across modules."""
