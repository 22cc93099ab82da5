"""The remote service: what it charged and took back, by order; it is never stopped."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress

Effect = tuple[str, int]
"""An order and the number of one of its charges."""


class Bank:
    """Charges once for each order and number, and never after it was taken back."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.charged: dict[Effect, float] = {}
        """When each was charged first."""
        self.refunded: set[Effect] = set()
        self.keys: defaultdict[tuple[str, Effect], set[str]] = defaultdict(set)
        """The keys of the steps that asked for it, by what was asked."""
        self._clock = clock
        self._server: asyncio.Server | None = None

    async def start(self) -> int:
        """Listen; the port."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return int(self._server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        """Listen no more."""
        if self._server is not None:
            self._server.close()

    def stands(self, order: str) -> set[int]:
        """The charges of an order that were not taken back."""
        return {number for of, number in self.charged.keys() - self.refunded if of == order}

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, ValueError):
            verb, order, number, key = (await reader.readline()).decode().split()
            self.keys[verb, (order, int(number))].add(key)
            writer.write(f"{self._answer(verb, (order, int(number)))}\n".encode())
            await writer.drain()
        writer.close()

    def _answer(self, verb: str, effect: Effect) -> str:
        if verb == "refund":
            self.refunded.add(effect)
            return "refunded"
        if effect not in self.refunded:
            self.charged.setdefault(effect, self._clock())
        return "charged"
