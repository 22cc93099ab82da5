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


class Look(NamedTuple):
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


class Trail:
    """Where readers stand; one that reads from elsewhere than it stood begins anew."""

    def __init__(self) -> None:
        self._next: OrderedDict[str, Look] = OrderedDict()
        self._begun: dict[str, tuple[int, dict[int, None]]] = {}
        """Where each reader began, and the last numbers that it was given since."""

    def look(self, reader: str, after: int, era: int = 0) -> Look:
        """What the reader, who was given ``after`` last, is to ask for."""
        known = self._next.get(reader)
        if known is None or after not in known.marks:
            self._begun[reader] = after, {}
            return Look(reader, (after,), after, None, None, era)
        if known.era != era:
            return Look(reader, known.marks, self._begun[reader][0], None, None, era)
        return known

    def new(self, look: Look, numbers: Sequence[int]) -> frozenset[int]:
        """Those that the reader has not been given."""
        _, given = self._begun[look.reader]
        return frozenset(number for number in numbers if number not in given)

    def saw(self, look: Look, snapshot: str, numbers: Sequence[int], limit: int) -> None:
        """A look that saw ``snapshot`` gave the reader rows of these numbers, in order and at most ``limit``."""
        _, given = self._begun[look.reader]
        news = [number for number in numbers if number not in given]
        given.update(dict.fromkeys(news))
        while len(given) > GIVEN_KEPT:
            del given[next(iter(given))]
        marks = (max((*look.marks, *news)), news[-1]) if news else look.marks
        first = look.first or snapshot
        if len(numbers) < limit:
            following = Look(look.reader, marks, 0, first, None, look.era)
        else:
            # There is more: go on behind the last, and then begin again where the first of these looks stood.
            following = Look(look.reader, marks, numbers[-1], look.since, first, look.era)
        self._next[look.reader] = following
        self._next.move_to_end(look.reader)
        if len(self._next) > READERS_KEPT:
            forgotten, _ = self._next.popitem(last=False)
            del self._begun[forgotten]
