"""Comparison of what workflow code asks for with what its record holds."""
