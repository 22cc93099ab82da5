"""Hanging up: what ASGI has no word for, and what a network does all the time."""

from __future__ import annotations

import asyncio

from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol


class HttpConnection(H11Protocol):
    """An HTTP connection that requests can reach, so that an answer of `HangUp` can break it."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Put the transport into the state that each request of this connection gets a copy of."""
        super().connection_made(transport)
        self.app_state = {**self.app_state, "transport": transport}


class HangUp(Response):
    """No answer at all: the connection is broken off."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Break the connection, and return once the server knows that no client waits for an answer."""
        scope["state"]["transport"].abort()
        while (await receive())["type"] != "http.disconnect":
            pass
