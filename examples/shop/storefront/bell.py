"""The bell: wakes the open pages of an order when an event of the order arrives."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager


class ChangeNotice:
    """The listeners of each order; a notice that comes while a listener is busy is not lost."""

    def __init__(self) -> None:
        self.listeners = 0
        self.is_stopped = False
        self._rung: dict[str, set[asyncio.Event]] = {}

    @contextmanager
    def listening(self, order_id: str) -> Iterator[asyncio.Event]:
        """An event that each ring for the order sets; clear it before waiting for it."""
        rung = asyncio.Event()
        self._rung.setdefault(order_id, set()).add(rung)
        self.listeners += 1
        try:
            yield rung
        finally:
            self.listeners -= 1
            self._rung[order_id].discard(rung)
            if not self._rung[order_id]:
                del self._rung[order_id]

    def ring(self, order_id: str) -> None:
        """Wake the pages that wait for the order."""
        for rung in self._rung.get(order_id, ()):
            rung.set()

    def stop(self) -> None:
        """Wake all pages for the last time: the storefront closes."""
        self.is_stopped = True
        for order_id in self._rung:
            self.ring(order_id)
