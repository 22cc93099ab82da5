"""Instants and spans in forms for people and for programs."""

from __future__ import annotations

from datetime import UTC, datetime

from stepward import durations

NOTHING = "–"
UNITS = ((365 * 86400.0, "y"), (86400.0, "d"), (3600.0, "h"), (60.0, "m"), (1.0, "s"))


def instant(at: float) -> str:
    """An instant in RFC 3339, UTC, to the millisecond."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def clock(at: float) -> str:
    """An instant as people read it, to the second."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def span(amount: float) -> str:
    """A span in its largest unit: ``42s``, ``3m``, ``5h``."""
    seconds = max(0.0, amount)
    return next((f"{seconds // size:.0f}{unit}" for size, unit in UNITS if seconds >= size), "0s")


def relative(at: float | None, now: float) -> str:
    """The distance of an instant from now: ``3m ago``, ``in 28s``."""
    if at is None:
        return NOTHING
    return f"in {span(at - now)}" if at > now else f"{span(now - at)} ago"


def full(at: float | None, now: float) -> str:
    """An instant with its distance."""
    return NOTHING if at is None else f"{relative(at, now)}, {clock(at)}"


def took(start: float | None, end: float | None, now: float) -> str:
    """A duration, or the time so far."""
    return NOTHING if start is None else durations.text(max(0.0, (now if end is None else end) - start))
