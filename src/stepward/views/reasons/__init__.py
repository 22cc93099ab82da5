"""Reasons for which tasks do not continue or have failed, in words."""
