"""Durations as people give them: ``timedelta``, seconds (``5``, ``"5"``), or ``"1h30m"``; every one is bounded."""

from __future__ import annotations

import re
import reprlib
from datetime import timedelta

from stepward.errors import InvalidDuration

FORMS = "a timedelta, seconds, or text like '90', '90s', '15m', '1h30m'"
LONGEST = 3650 * 86400.0
UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|d)")
LONGEST_TEXT = 64
PLAIN = re.compile(r"[0-9]+(?:\.[0-9]+)?")

Duration = timedelta | float | int | str


def seconds(value: Duration, what: str = "duration", *, zero: bool = False) -> float:
    """The seconds of ``value``; ``zero`` allows none at all.

    Raises InvalidDuration unless it is well-formed, positive and at most ten years.
    """
    result = _parse(value, what)
    if not (result > 0 or (zero and result == 0)) or result > LONGEST:
        raise InvalidDuration(
            f"{what}: expected {'0' if zero else 'more than 0'} to 3650 days, found {shown(value)}; "
            "give a duration in that range"
        )
    return result


def _parse(value: Duration, what: str) -> float:
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value) if abs(value) <= LONGEST * 2 else float("inf")
    if isinstance(value, str):
        text = value.strip().replace(" ", "")
        if len(text) <= LONGEST_TEXT and PLAIN.fullmatch(value.strip()):
            return float(text)
        if 0 < len(text) <= LONGEST_TEXT and PART.sub("", text) == "":
            return sum(float(amount) * UNITS[unit] for amount, unit in PART.findall(text))
    raise InvalidDuration(f"{what}: expected {FORMS}, found {shown(value)}; write it in one of these forms")


def shown(value: object) -> str:
    """``value`` as an error message shows it, cut to a bounded length."""
    # An integer of thousands of digits has no repr.
    return reprlib.repr(value) if not isinstance(value, int) or abs(value) < 10**20 else "a huge number"


def text(amount: float) -> str:
    """A duration in seconds as people read it: ``1h 30m``, ``4.5s``, ``200ms``."""
    if amount < 0.9995:
        return f"{amount * 1000:.0f}ms"
    if amount < 59.95:
        return f"{amount:.3g}s"
    amount = float(round(amount))
    parts: list[str] = []
    for unit in ("d", "h", "m", "s"):
        count, amount = divmod(amount, UNITS[unit])
        if count:
            parts.append(f"{count:.0f}{unit}")
    return " ".join(parts[:2])
