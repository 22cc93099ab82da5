"""When a message of another program expires, as far as it says so in a way that can be passed on."""

from __future__ import annotations

import math

MOST_SECONDS = 365 * 86_400.0
"""Most seconds ahead: brokers refuse what expires much later."""


def expiry(said: object, ttl: float | None, now: float) -> float | None:
    """The instant that the message says itself; or else its ``ttl`` at the broker, in seconds, counted from now.

    Both may be of foreign programs: what is no number, or no finite one, is ignored.
    """
    try:
        at = float(said) if isinstance(said, str | float) else now + (math.inf if ttl is None else ttl)
    except ValueError:
        return None
    return min(at, now + MOST_SECONDS) if math.isfinite(at) else None
