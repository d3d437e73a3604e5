"""Edits: which findings code can mend, and putting the edits into files."""
