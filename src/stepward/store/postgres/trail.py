"""Reading on after a number without passing over rows whose transactions committed late.

Numbers are drawn before their transactions commit, so that a row may appear below one that was seen already. Each look
also tells which transactions it saw; the next one of the same reader asks for what that look could not see.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

READERS_KEPT = 10_000


class Look(NamedTuple):
    """What to ask for: rows numbered above ``above`` that ``since`` (a snapshot, if any) did not show."""

    reader: str
    marks: tuple[int, ...]
    """What the reader may say that it was given last: the highest number, or the last one."""
    above: int
    since: str | None
    first: str | None
    """The snapshot of the first of several looks, when there is more than one look can give."""


class Trail:
    """Where readers stand; one that reads from elsewhere than it stood begins anew."""

    def __init__(self) -> None:
        self._next: OrderedDict[str, Look] = OrderedDict()

    def look(self, reader: str, after: int) -> Look:
        """What the reader, who was given ``after`` last, is to ask for."""
        known = self._next.get(reader)
        if known is not None and after in known.marks:
            return known
        return Look(reader, (after,), after, None, None)

    def saw(self, look: Look, snapshot: str, numbers: Sequence[int], limit: int) -> None:
        """A look that saw ``snapshot`` gave the reader rows of these numbers, in order and at most ``limit``."""
        marks = (max((*look.marks, *numbers)), numbers[-1]) if numbers else look.marks
        first = look.first or snapshot
        if len(numbers) < limit:
            following = Look(look.reader, marks, 0, first, None)
        else:
            # There is more: go on behind the last, and then begin again where the first of these looks stood.
            following = Look(look.reader, marks, numbers[-1], look.since, first)
        self._next[look.reader] = following
        self._next.move_to_end(look.reader)
        if len(self._next) > READERS_KEPT:
            self._next.popitem(last=False)
