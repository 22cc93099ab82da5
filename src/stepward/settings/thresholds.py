"""Thresholds of early warnings as settings: shares and sizes, or ``never``; how settings show them."""

from __future__ import annotations

import re

from stepward.durations import shown
from stepward.errors import SettingsError
from stepward.settings.readers import GIB, KIB, MIB, Reader, size

SHARE = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,6})?) ?(%)?")


def optional_size(lowest: int, highest: int) -> Reader:
    """Bytes, or ``never``, as None."""
    read_size = size(lowest, highest)
    return lambda value, what: None if value is None or value == "never" else read_size(value, what)


def share(value: object, what: str) -> float | None:
    """A part of a whole, as ``0.8`` or ``80%``, or ``never``, as None."""
    if value is None or value == "never":
        return None
    match = SHARE.fullmatch(value.strip()) if isinstance(value, str) else None
    number = float(match[1]) / (100 if match[2] else 1) if match else value
    if isinstance(number, bool) or not isinstance(number, int | float) or not 0 < number < 1:
        raise SettingsError(f"{what}: expected a share such as 0.8 or 80%, or 'never', found {shown(value)}; change it")
    return float(number)


def show_optional_size(size: int | None) -> str:
    """Bytes, or ``never``."""
    return "never" if size is None else show_size(size)


def show_share(share: float | None) -> str:
    """A part of a whole, or ``never``."""
    return "never" if share is None else f"{share:.4g}"


def show_size(size: int) -> str:
    """Bytes in the largest unit that shows them whole."""
    unit, amount = next(pair for pair in ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB"), (1, "B")) if size % pair[0] == 0)
    return f"{size // unit:,} {amount}"
