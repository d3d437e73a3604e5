"""What the form of a function tells without running it: most of them are about turns that were already sent."""
