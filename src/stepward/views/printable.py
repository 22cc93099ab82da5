"""Text of users and services made printable: control and invisible characters are escaped."""

from __future__ import annotations

PRESENTATION = {0xFE0E: None, 0xFE0F: None}
"""Variation selectors: terminals disagree about the width of what they follow."""


def clean(text: str) -> str:
    """``text`` with control characters and zero-width characters escaped."""
    text = text.translate(PRESENTATION)
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
