"""Pipelines: workflows that are declared as a plan of stages."""
