"""The one place where every request is let through, whatever its path, its method or its protocol.

It is told who asks before any route is looked for, and asks each route for the permission that it declares. A route
without a declaration is refused for everybody.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol

from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler
from litestar.types import ASGIApp, Message, Receive, Send

from stepward.http.access.permissions import Permission
from stepward.http.access.principals import LOCAL, Principal, SignIn
from stepward.http.access.requests import IncomingRequest
from stepward.http.access.rules import AccessRules
from stepward.http.problems import PROBLEM_JSON, HttpRefusal, encoded, problem_of

METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE"})
SAFE = frozenset({"GET"})
"""Methods that change nothing."""
FORWARDED = ("forwarded", "x-forwarded-for", "x-forwarded-host")
"""Headers of proxies: where one stands in front, not everybody who comes from this host belongs to it."""


class Authenticator(Protocol):
    """Finds out who asks."""

    async def principal(self, incoming: IncomingRequest) -> Principal | None:
        """The principal of what the request carries; None if it carries nothing.

        Raises HttpRefusal for what is wrong.
        """
        ...


class ChokePoint:
    """The ASGI application around all routes."""

    def __init__(
        self,
        inner: ASGIApp,
        *,
        rules: AccessRules,
        authenticator: Authenticator,
        public: frozenset[str],
        headers: Sequence[tuple[bytes, bytes]],
    ) -> None:
        self._inner = inner
        self._rules = rules
        self._authenticator = authenticator
        self._public = public
        self._headers = headers

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Let a request through to its route, or answer it here."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 4403, "reason": "no such socket"})
            return
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return
        incoming = IncomingRequest.of(scope)
        hardened = self._hardened(send)
        try:
            principal = await self._let_in(incoming)
        except HttpRefusal as refusal:
            await _refuse(hardened, refusal)
            return
        inner: Any = {**scope, "path": incoming.path, "root_path": "", "user": principal, "auth": incoming}
        await self._inner(inner, receive, hardened)

    async def _let_in(self, incoming: IncomingRequest) -> Principal | None:
        """Who asks; None where nobody needs to say. Raises HttpRefusal."""
        if not self._rules.accepts_host(incoming.host):
            raise HttpRefusal(421, f"Host: expected a name of this server, found {incoming.host[:100]!r}")
        principal = await self._authenticator.principal(incoming) or self._local(incoming)
        if principal is None and not self._is_public(incoming):
            raise HttpRefusal(
                401,
                "expected an API token or a session, found neither; send Authorization: Bearer TOKEN, or sign in",
                headers={"WWW-Authenticate": 'Bearer realm="stepward"'},
            )
        if incoming.method not in METHODS:
            raise HttpRefusal(
                405, f"method: expected one of {', '.join(sorted(METHODS))}, found {incoming.method[:20]!r}"
            )
        incoming.check_size()
        if incoming.method not in SAFE and (principal is None or principal.sign_in is not SignIn.TOKEN):
            incoming.check_origin()
        return principal

    def _local(self, incoming: IncomingRequest) -> Principal | None:
        if not self._rules.local_admin or any(incoming.header(name) for name in FORWARDED):
            return None
        return LOCAL

    def _is_public(self, incoming: IncomingRequest) -> bool:
        return incoming.path in self._public

    def _hardened(self, send: Send) -> Callable[[Message], Awaitable[None]]:
        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = {name.lower() for name, _ in message["headers"]}
                more = [(name, value) for name, value in self._headers if name not in given]
                message = {**message, "headers": [*message["headers"], *more]}
            await send(message)

        return sending


def authorize(connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler) -> None:
    """Let a principal through to a route that declares a permission which it has. Raises HttpRefusal."""
    needed = handler.opt.get("permission")
    if not isinstance(needed, Permission):
        raise HttpRefusal(403, "this route declares no permission, and is for nobody")
    principal: Principal | None = connection.scope.get("user")
    if needed is Permission.PUBLIC:
        return
    if principal is None:
        raise HttpRefusal(401, "expected an API token or a session, found neither")
    if not principal.may(needed):
        raise HttpRefusal(403, f"expected the permission {needed}, found {principal.name} without it; ask an admin")


async def _refuse(send: Callable[[Message], Awaitable[None]], refusal: HttpRefusal) -> None:
    body = encoded(problem_of(refusal.status, refusal.detail))
    headers: Mapping[str, str] = {
        "content-type": PROBLEM_JSON,
        "content-length": str(len(body)),
        **{name.lower(): value for name, value in refusal.headers.items()},
    }
    start: Any = {
        "type": "http.response.start",
        "status": refusal.status,
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    await send(start)
    await send({"type": "http.response.body", "body": body, "more_body": False})
