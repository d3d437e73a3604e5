"""Running a program symbolically: expressions, statements, calls, classes."""
