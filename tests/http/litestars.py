"""Litestar applications for one test after the other: to make one takes longer than all else that most tests do."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from litestar import Litestar
from litestar.datastructures import State

Make = Callable[[dict[str, Any], Sequence[Any]], Litestar]


class Litestars:
    """Stands in for what makes them: a test gets those of the tests before it, with the state that it gives."""

    def __init__(self, make: Make) -> None:
        self._make = make
        self._made: dict[int, list[Litestar]] = defaultdict(list)
        self._in_use: dict[int, int] = defaultdict(int)

    def __call__(self, state: dict[str, Any], pages: Sequence[Any]) -> Litestar:
        kind = len(pages)
        number = self._in_use[kind]
        self._in_use[kind] += 1
        if number == len(self._made[kind]):
            self._made[kind].append(self._make(state, pages))
        litestar = self._made[kind][number]
        litestar.state = State(state)
        litestar.on_shutdown[:] = [state["source"].close]
        return litestar

    def take_back(self) -> None:
        """Let the next test have them."""
        self._in_use.clear()
