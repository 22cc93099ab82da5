"""``POST /hooks/NAME``: webhooks that others sign (Standard Webhooks) become messages of submission queues.

Only a hook that the settings declare has a route. The sender proves itself by its signature alone, so the route is
public; what it may do is to post to that one queue.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from litestar import Request, post
from litestar.datastructures import State
from litestar.handlers import HTTPRouteHandler
from msgspec import Struct

from stepward.client import session_of
from stepward.clock import Clock, SystemClock
from stepward.errors import Refused
from stepward.http.access.permissions import Permission
from stepward.http.access.rate_limits import AccessLimit
from stepward.http.api.body_checks import check_body
from stepward.http.exception_handlers import HttpRefusal
from stepward.http.shared_client import ClientSource
from stepward.observers.webhook_signature import check_secret, verify
from stepward.payload import decode
from stepward.settings.hook_settings import HookSettings

BELOW = "/hooks/"
FAILURES, FAILURE_RATE = 20.0, 1.0
"""Refused signatures that an address may send at once, and how many a second beyond these."""


class HookReceipt(Struct, frozen=True):
    """The answer to a message that was taken; it is the same when the message comes again."""

    id: str
    """Of the message, and of the task that it becomes."""


class Hooks:
    """The declared hooks, and the addresses whose signatures were refused."""

    def __init__(self, declared: Iterable[HookSettings], clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._by_name: Mapping[str, HookSettings] = {hook.name: hook for hook in declared}
        self._failures = AccessLimit(self._clock.boot, rate=FAILURE_RATE, burst=FAILURES)
        for hook in self._by_name.values():
            check_secret(hook.secret, f"hooks.{hook.name}.secret")

    @property
    def paths(self) -> list[str]:
        """The path of each hook."""
        return [BELOW + name for name in self._by_name]

    def verified(self, path: str, address: str, headers: Mapping[str, str], body: bytes) -> tuple[HookSettings, str]:
        """The hook of a path and the id of the message, whose signature is valid. Raises HttpRefusal (401, 429)."""
        wait = self._failures.wait_seconds(address)
        if wait > 0:
            raise HttpRefusal(
                429, "expected fewer refused signatures from this address", headers={"Retry-After": str(int(wait) + 1)}
            )
        hook = self._by_name[path.removeprefix(BELOW)]
        try:
            return hook, verify(hook.secret, headers, body, self._clock.wall())
        except Refused as error:
            self._failures.take(address)
            raise HttpRefusal(401, str(error)) from None


def hook_routes(hooks: Hooks) -> list[HTTPRouteHandler]:
    """The route of the declared hooks; none without any."""

    @post(
        hooks.paths, permission=Permission.PUBLIC, include_in_schema=False, status_code=202, before_request=check_body
    )
    async def receive_hook(request: Request[Any, Any, Any], state: State) -> HookReceipt:
        """Take a signed message."""
        incoming = request.scope["auth"]
        body = await request.body()
        known: Hooks = state.hooks
        hook, given = known.verified(incoming.path, incoming.address, dict(request.headers), body)
        source: ClientSource = state.source
        # Senders choose their ids: one does not meet those of another hook or of the application.
        id = f"{hook.name}:{given}"
        await session_of(await source.client()).post(hook.queue, decode(body, "body"), id)
        return HookReceipt(id)

    return [receive_hook] if hooks.paths else []
