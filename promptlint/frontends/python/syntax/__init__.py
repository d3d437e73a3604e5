"""Python as it is written: strings with the place of each character, newer grammar, walking, slicing."""
