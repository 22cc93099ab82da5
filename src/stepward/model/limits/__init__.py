"""Limits on what runs at once: what is declared, what is set, and the slots that instances lease."""
