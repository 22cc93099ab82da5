"""Figures and names as people read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def euros(cents: int) -> str:
    """An amount as people read it."""
    return f"€{cents // 100:,}.{cents % 100:02}"


def goods(quantities: Mapping[str, int]) -> str:
    """How many of each product."""
    return ", ".join(count(n, product) for product, n in sorted(quantities.items())) or "nothing"


def listed(names: Sequence[str]) -> str:
    """Names, one after the other."""
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def count(number: int, noun: str) -> str:
    """So many of a thing."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
