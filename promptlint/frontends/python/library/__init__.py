"""What calls outside the project give: the standard library, template engines, files, catalogued sources."""
