"""Connections that have not asked for anything yet: few at a time from one address, and none for long."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any, ClassVar, cast

from uvicorn.protocols.http.h11_impl import H11Protocol

MOST_OF_ONE_ADDRESS = 100
"""Half-open connections of one address; one more is closed at once."""
SECONDS = 10.0
"""What a client may take to send the head of a request."""


class HalfOpen(H11Protocol):
    """uvicorn's protocol, that closes a connection whose request head does not come.

    Counted are connections on which the server waits for the rest of a head; an idle one that has had its answer has
    uvicorn's own time.
    """

    counts: ClassVar[Counter[str]] = Counter()
    """How many each address has, in this process."""

    _address: str | None = None
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        address = str((transport.get_extra_info("peername") or ("",))[0])
        if self.counts[address] >= MOST_OF_ONE_ADDRESS:
            transport.abort()
            return
        self._address = address
        self._wait()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        cycle = cast("Any", self.cycle)
        if cycle is not None and not cycle.response_complete:
            self._end_waiting()
        else:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        if self._timer is None and self._address is not None and not self.transport.is_closing():
            self.counts[self._address] += 1
            self._timer = asyncio.get_running_loop().call_later(SECONDS, self.transport.abort)

    def _end_waiting(self) -> None:
        if self._timer is not None and self._address is not None:
            self._timer.cancel()
            self._timer = None
            self.counts[self._address] -= 1
            if not self.counts[self._address]:
                del self.counts[self._address]
