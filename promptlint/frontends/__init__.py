"""Frontends: source files in, layouts out. They do not judge and execute nothing."""
