"""The archive of ended tasks: written by retention, and read back."""
