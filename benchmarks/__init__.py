"""Benchmarks: what Stepward does in a second, beside what the bare machine could."""
