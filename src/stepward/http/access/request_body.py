"""The body of a request, with a time limit for each part; a form's field can be read before the route is called."""

from __future__ import annotations

import asyncio
from urllib.parse import parse_qs

from litestar.types import HTTPReceiveMessage, HTTPRequestEvent, Receive

from stepward.http.exception_handlers import HttpRefusal

PART_SECONDS = 10.0
"""Seconds within which the next part of a body must arrive."""
FORM_BYTES = 64 * 1024
MOST_FIELDS = 100


class RequestBody:
    """Wraps ``receive`` with a time limit, and repeats the messages that were read ahead."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._ahead: list[HTTPReceiveMessage] = []
        self._is_whole = False

    async def receive(self) -> HTTPReceiveMessage:
        """The next message. Raises HttpRefusal (408) if the next part does not arrive in time."""
        if self._ahead:
            return self._ahead.pop(0)
        if self._is_whole:
            # What comes now is the end of the connection, which streams wait for.
            return await self._receive()  # type: ignore[return-value]
        return await self._next()

    async def form_field(self, name: str) -> str | None:
        """The field of a form; the route can still read the form. Raises HttpRefusal (413) for a form that is too
        large."""
        data = b""
        while not self._is_whole:
            message = await self._next()
            if message["type"] != "http.request":
                return None
            data += message["body"]
            if len(data) > FORM_BYTES:
                raise HttpRefusal(413, f"form: expected at most {FORM_BYTES:,} bytes, found more")
        whole: HTTPRequestEvent = {"type": "http.request", "body": data, "more_body": False}
        self._ahead = [whole]
        try:
            found = parse_qs(data.decode("utf-8", "replace"), max_num_fields=MOST_FIELDS).get(name)
        except ValueError:
            raise HttpRefusal(413, f"form: expected at most {MOST_FIELDS} fields, found more") from None
        return found[0] if found else None

    async def _next(self) -> HTTPReceiveMessage:
        try:
            async with asyncio.timeout(PART_SECONDS):
                message = await self._receive()
        except TimeoutError:
            raise HttpRefusal(408, f"body: expected its next part within {PART_SECONDS:g} s, found none") from None
        self._is_whole = message["type"] != "http.request" or not message.get("more_body", False)
        return message  # type: ignore[return-value]
