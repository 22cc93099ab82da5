"""Figures over the whole store, for metrics and overviews."""
