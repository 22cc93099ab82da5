"""Checks of the numbers that policies are declared with."""

from __future__ import annotations

from stepward.errors import DeclarationError


def check_count(what: str, count: object, lowest: int, highest: int) -> None:
    """Raises DeclarationError unless it is a whole number within the bounds, both included."""
    if not isinstance(count, int) or isinstance(count, bool) or not lowest <= count <= highest:
        raise DeclarationError(f"{what}: expected a whole number from {lowest} to {highest}, found {count!r}")


def check_factor(what: str, factor: object) -> None:
    """Raises DeclarationError unless the factor by which delays grow is from 1 to 1000."""
    if not isinstance(factor, int | float) or isinstance(factor, bool) or not 1.0 <= factor <= 1000.0:
        raise DeclarationError(f"{what}.factor: expected a number from 1 to 1000, found {factor!r}")
