"""The shop: every process of the example, kept running for a browser."""
