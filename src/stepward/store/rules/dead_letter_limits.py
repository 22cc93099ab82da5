"""Limits of the dead letters of a queue, and the alert on them."""

from __future__ import annotations

from typing import Any

import msgspec

from stepward.model.records import Alert

MOST_DEAD_LETTERS = 1_000
"""Dead letters of one queue that are kept; what comes beyond is counted and dropped."""
MOST_DEAD_LETTER_BYTES = 64 * 1024 * 1024
"""Bytes of the dead letters of one queue beyond which no more are kept."""
DEAD_LETTERS_KEPT_SECONDS = 90 * 86_400.0
"""How long a dead letter waits for an operator before it is deleted."""


def is_full(dead_letters: int, letter_bytes: int) -> bool:
    """Whether a queue has as many dead letters as are kept of one."""
    return dead_letters >= MOST_DEAD_LETTERS or letter_bytes >= MOST_DEAD_LETTER_BYTES


def dead_letter_alert(queue: str, reason: str, now: float, *, count: int, dropped: int, before: bytes = b"{}") -> Alert:
    """The alert on messages of a queue that cannot be processed, one per queue; ``before``: the details to add to."""
    known = msgspec.json.decode(before, type=dict[str, Any])
    count, dropped = known.get("count", 0) + count, known.get("dropped", 0) + dropped
    lost = f", of which {dropped:,} were not kept as there are too many" if dropped else ""
    message = f"messages in {queue} cannot be used: {reason} ({count:,} so far{lost}); see stepward dead-letters"
    details = {"queue": queue, "count": count, "dropped": dropped}
    return Alert(at=now, kind="dead_letter", message=message, details=msgspec.json.encode(details))
