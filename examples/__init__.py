"""Workflows to copy. Each file stands alone; see README.md."""
