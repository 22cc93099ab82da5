"""The deterministic event loop on which workflow code runs."""
