"""The public protocol of the ASGI application; this module needs no package of the extra."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Protocol


class AsgiApplication(Protocol):
    """An ASGI application to mount; ``async with`` opens its client and closes it."""

    async def __call__(
        self,
        scope: MutableMapping[str, Any],
        receive: Callable[[], Awaitable[MutableMapping[str, Any]]],
        send: Callable[[MutableMapping[str, Any]], Awaitable[None]],
        /,
    ) -> None:
        """Answers a request."""
        ...

    async def __aenter__(self) -> object: ...

    async def __aexit__(self, *exception: object) -> None: ...
