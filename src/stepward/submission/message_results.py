"""The results of messages: settled, tried again later, or a dead letter with the reason."""

from __future__ import annotations

from collections.abc import Sequence

from stepward.policies import grown
from stepward.transport.queues.contract import Stored

MOST_TRIES = 5
FIRST_DELAY, LONGEST_DELAY = 1.0, 60.0
LONGEST_REASON = 1_000


class Verdicts:
    """The results of the first ``count`` messages of a batch."""

    def __init__(self) -> None:
        self.count = 0
        self.accepted = 0
        self.done: list[int] = []
        self.dead: list[tuple[Stored, str]] = []
        self.later: dict[float, list[int]] = {}
        """Tokens of messages to be tried again, by the delay in seconds."""

    def accept(self, stored: Stored) -> None:
        """Note that its task exists."""
        self.accepted += 1
        self.done.append(stored.token)

    def refuse(self, stored: Stored, reason: str) -> None:
        """Note that it can never be accepted."""
        self.dead.append((stored, _one_line(reason)))

    def fail(self, stored: Stored, why: str) -> None:
        """Try again later, up to the last try."""
        if stored.tries >= MOST_TRIES:
            self.refuse(stored, f"failed {MOST_TRIES} times: {why}")
        else:
            self._try_again([stored], grown(FIRST_DELAY, 2.0, LONGEST_DELAY, stored.tries))

    def postpone(self, stored: Stored) -> None:
        """Try again later, as often as it takes: nothing is wrong with it."""
        self._try_again([stored], FIRST_DELAY)

    def try_all_again(self, found: Sequence[Stored]) -> None:
        """Try each again alone: they failed together, and it is unknown which one is the cause."""
        self._try_again(found, FIRST_DELAY)

    def _try_again(self, found: Sequence[Stored], delay: float) -> None:
        self.later.setdefault(delay, []).extend(stored.token for stored in found)


def is_worn_out(stored: Stored) -> bool:
    """Whether it was taken too often already, not counting this time."""
    return stored.tries > MOST_TRIES


def _one_line(reason: str) -> str:
    """As a table shows it: printable and short."""
    line = " ".join(reason.split()).encode(errors="backslashreplace").decode()
    return line if len(line) <= LONGEST_REASON else f"{line[:LONGEST_REASON]}…"
