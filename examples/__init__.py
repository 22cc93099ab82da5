"""Worked examples: whole programs built on Stepward."""
