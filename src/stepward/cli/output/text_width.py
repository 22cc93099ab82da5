"""Text cut to a number of cells of the terminal, of which wide characters take two."""

from __future__ import annotations

from rich.cells import cell_len

ELLIPSIS = "…"


def width_of(text: str) -> int:
    """How many cells ``text`` takes."""
    return cell_len(text)


def cut(text: str, width: int) -> str:
    """``text`` with its end left out where it does not fit."""
    if cell_len(text) <= width:
        return text
    return _head(text, width - 1) + ELLIPSIS if width > 0 else ""


def cut_middle(text: str, width: int) -> str:
    """``text`` with its middle left out where it does not fit: ids differ at both ends."""
    if cell_len(text) <= width:
        return text
    if width < 3:
        return cut(text, width)
    head = _head(text, width // 2)
    tail = _head(text[::-1], width - 1 - cell_len(head))[::-1]
    return head + ELLIPSIS + tail


def _head(text: str, width: int) -> str:
    # Every visible character takes at least one cell, so the rest of a long text need not be examined.
    taken, cells = "", 0
    for character in text[: width * 4]:
        cells += cell_len(character)
        if cells > width:
            break
        taken += character
    return taken
