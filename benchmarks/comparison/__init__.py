"""Stepward and other products in one run on the same work: rounds in turn, ratios of one round, one report."""
