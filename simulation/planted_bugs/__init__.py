"""Planted bugs, and how one is planted into code that stays as it is."""
