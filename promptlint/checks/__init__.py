"""One module a rule: layouts in, findings out. They do not parse."""
