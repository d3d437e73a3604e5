"""The data under rules/ as typed tables: the only code that reads it."""
