"""What becomes of messages: settled, tried again later, or dead letters with the reason."""

from __future__ import annotations

from collections.abc import Sequence

from stepward.policies import grown
from stepward.transport.queues.contract import Stored

MOST_TRIES = 5
FIRST_DELAY, LONGEST_DELAY = 1.0, 60.0
LONGEST_REASON = 1_000


class Verdicts:
    """What becomes of the first ``count`` of the messages that somebody was given to judge."""

    def __init__(self) -> None:
        self.count = 0
        self.accepted = 0
        self.done: list[int] = []
        self.dead: list[tuple[Stored, str]] = []
        self.later: dict[float, list[int]] = {}
        """Tokens of messages to be tried again, by the seconds until then."""

    def accept(self, stored: Stored) -> None:
        """It is a task now."""
        self.accepted += 1
        self.done.append(stored.token)

    def refuse(self, stored: Stored, reason: str) -> None:
        """Nothing can ever be made of it."""
        self.dead.append((stored, _one_line(reason)))

    def fail(self, stored: Stored, why: str) -> None:
        """Perhaps it is a matter of time; after the last try it is not."""
        if stored.tries >= MOST_TRIES:
            self.refuse(stored, f"failed {MOST_TRIES} times: {why}")
        else:
            self._try_again([stored], grown(FIRST_DELAY, 2.0, LONGEST_DELAY, stored.tries))

    def try_all_again(self, found: Sequence[Stored]) -> None:
        """They failed together, and nobody knows through which of them: each comes again alone."""
        self._try_again(found, FIRST_DELAY)

    def _try_again(self, found: Sequence[Stored], delay: float) -> None:
        self.later.setdefault(delay, []).extend(stored.token for stored in found)


def is_worn_out(stored: Stored) -> bool:
    """Whether it was taken too often already, this time not counted."""
    return stored.tries > MOST_TRIES


def _one_line(reason: str) -> str:
    """As a table shows it: printable, and no longer than a reader needs."""
    line = " ".join(reason.split()).encode(errors="backslashreplace").decode()
    return line if len(line) <= LONGEST_REASON else f"{line[:LONGEST_REASON]}…"
