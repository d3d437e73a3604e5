"""Edits that mend a finding."""
