"""Findings as text, JSON, SARIF, GitHub annotations and JUnit. They do not compute."""
