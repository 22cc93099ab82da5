"""Reading on after a number without passing over rows whose transactions committed late.

Numbers are drawn before their transactions commit, so that a row may appear below one that was seen already. Each look
also tells which transactions it saw; the next one of the same reader asks for what that look could not see.

A server that crashed, or another that took over, gives the numbers of transactions again that nothing was kept of: what
a look saw says nothing of those. After a connection was made, everything is looked at once more, and what the reader
was given is left out.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

READERS_KEPT = 10_000
GIVEN_KEPT = 1_000


class GapLook(NamedTuple):
    """What to ask for: rows numbered above ``above`` that ``since`` (a snapshot, if any) did not show."""

    reader: str
    marks: tuple[int, ...]
    """What the reader may say that it was given last: the highest number, or the last one."""
    above: int
    since: str | None
    first: str | None
    """The snapshot of the first of several looks, when there is more than one look can give."""
    era: int = 0
    """How many connections had been made: what was seen before another was made may be of another server."""
    begun: int = 0
    """Where the reader began."""
    given: tuple[int, ...] = ()
    """The last numbers that it was given since."""

    def new(self, numbers: Sequence[int]) -> list[int]:
        """The numbers that the reader has not been given."""
        given = frozenset(self.given)
        return [number for number in numbers if number not in given]


class GapReader:
    """Where readers stand; one that reads from elsewhere than it stood starts at the beginning."""

    def __init__(self) -> None:
        self._next: OrderedDict[str, GapLook] = OrderedDict()

    def look(self, reader: str, after: int, era: int = 0) -> GapLook:
        """What the reader, who was given ``after`` last, is to ask for."""
        known = self._next.get(reader)
        if known is None or after not in known.marks:
            return GapLook(reader, (after,), after, None, None, era, after)
        if known.era != era:
            return known._replace(above=known.begun, since=None, first=None, era=era)
        return known

    def saw(self, look: GapLook, snapshot: str, numbers: Sequence[int], limit: int) -> None:
        """A look that saw ``snapshot`` gave the reader rows of these numbers, in order and at most ``limit``."""
        new = look.new(numbers)
        following = look._replace(
            marks=(max((*look.marks, *new)), new[-1]) if new else look.marks,
            given=(*look.given, *new)[-GIVEN_KEPT:],
        )
        first = look.first or snapshot
        if len(numbers) < limit:
            following = following._replace(above=0, since=first, first=None)
        else:
            # There is more: go on behind the last, and then begin again where the first of these looks stood.
            following = following._replace(above=numbers[-1], first=first)
        self._next[look.reader] = following
        self._next.move_to_end(look.reader)
        if len(self._next) > READERS_KEPT:
            self._next.popitem(last=False)
