"""The choke point: every request passes it, whatever its path, method or protocol.

It authenticates a request before any route is matched, and checks the permission that the route declares. A route
without a declaration is refused for every principal.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler
from litestar.types import ASGIApp, Message, Receive, Send

from stepward.http.access.access_audit import AccessAudit
from stepward.http.access.access_rules import AccessRules
from stepward.http.access.incoming_request import IncomingRequest
from stepward.http.access.permissions import Permission
from stepward.http.access.principals import ASSISTANT, LOCAL, Principal, SignIn
from stepward.http.access.request_body import RequestBody
from stepward.http.exception_handlers import HttpRefusal
from stepward.http.problem_documents import PROBLEM_JSON, encoded, problem_of

METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE"})
HEALTH = frozenset({"/livez", "/readyz"})
SAFE = frozenset({"GET"})
"""Methods that change nothing."""
FORM = "application/x-www-form-urlencoded"
FORBIDDEN = 403
FORWARDED = ("forwarded", "x-forwarded-for", "x-forwarded-host")
"""Headers that proxies add: with one of them, a request from loopback may come from another host."""


class Authenticator(Protocol):
    """Finds the principal of a request."""

    async def principal(self, incoming: IncomingRequest) -> Principal | None:
        """The principal of the request's credential; None without one.

        Raises HttpRefusal for a credential that is not valid.
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
        audit: AccessAudit,
        public: frozenset[str],
        headers: Sequence[tuple[bytes, bytes]],
    ) -> None:
        self._inner = inner
        self._rules = rules
        self._authenticator = authenticator
        self._audit = audit
        self._public = public
        self._headers = headers

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Passes a request to its route, or answers with a refusal."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 4403, "reason": "no such socket"})
            return
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return
        incoming = IncomingRequest(scope)
        answer = HardenedAnswer(send, self._headers)
        hardened, body = answer.send, RequestBody(receive)
        try:
            principal = await self._let_in(incoming)
            await _check_csrf(incoming, principal, body)
        except HttpRefusal as refusal:
            await _refuse(hardened, refusal)
            return
        inner: Any = {**scope, "path": incoming.path, "root_path": "", "user": principal, "auth": incoming}
        inner["stepward.base"] = scope.get("root_path", "")
        await self._inner(inner, body.receive, hardened)
        if answer.status == FORBIDDEN and principal is not None:
            await self._audit.refused(
                principal.name,
                reason="permission",
                method=incoming.method,
                path=incoming.path,
                address=incoming.address,
            )

    async def _let_in(self, incoming: IncomingRequest) -> Principal | None:
        """The principal of an accepted request; None on a public path. Raises HttpRefusal."""
        if self._rules.proxy is not None and not self._is_health(incoming):
            incoming.apply_proxy(self._rules.proxy)
        if not self._rules.accepts_host(incoming.host) and not self._is_health(incoming):
            raise HttpRefusal(421, f"Host: expected a name of this server, found {incoming.host[:100]!r}")
        principal = await self._authenticator.principal(incoming) or self._local(incoming)
        if principal is None and not self._is_public(incoming):
            if incoming.wants_page:
                raise HttpRefusal(303, "sign in first", headers={"Location": f"{incoming.base}/login"})
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
            incoming.check_origin(needed=principal is not None and principal.sign_in is SignIn.SESSION)
        return principal

    def _local(self, incoming: IncomingRequest) -> Principal | None:
        if self._rules.local_viewer:
            return ASSISTANT
        if not self._rules.local_admin or any(incoming.header(name) for name in FORWARDED):
            return None
        return LOCAL

    def _is_health(self, incoming: IncomingRequest) -> bool:
        """Whether the path is a health check, which monitors request under the process's own address."""
        return incoming.path in HEALTH and not self._rules.local_admin

    def _is_public(self, incoming: IncomingRequest) -> bool:
        return incoming.path in self._public


class HardenedAnswer:
    """Adds the headers that an answer lacks, and records its status."""

    def __init__(self, send: Send, headers: Sequence[tuple[bytes, bytes]]) -> None:
        self._send = send
        self._headers = headers
        self.status = 0

    async def send(self, message: Message) -> None:
        """Sends a message of the answer."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            given = {name.lower() for name, _ in message["headers"]}
            more = [(name, value) for name, value in self._headers if name not in given]
            message = {**message, "headers": [*message["headers"], *more]}
        await self._send(message)


async def _check_csrf(incoming: IncomingRequest, principal: Principal | None, body: RequestBody) -> None:
    """Raises HttpRefusal (403) for an act of a session without the session's CSRF token."""
    if principal is None or principal.sign_in is not SignIn.SESSION or incoming.method in SAFE:
        return
    given = incoming.header("x-csrf-token")
    if given is None and (incoming.header("content-type") or "").startswith(FORM):
        given = await body.form_field("csrf_token")
    if given is None or not hmac.compare_digest(given.encode(), principal.csrf.encode()):
        raise HttpRefusal(403, "csrf_token: expected the one of this session, found another; load the page again")


def authorize(connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler) -> None:
    """Checks that the principal has the permission that the route declares. Raises HttpRefusal (401 or 403)."""
    needed = handler.opt.get("permission")
    if not isinstance(needed, Permission):
        raise HttpRefusal(403, "this route declares no permission, so no principal may use it")
    principal: Principal | None = connection.scope.get("user")
    if needed is Permission.PUBLIC:
        return
    if principal is None:
        raise HttpRefusal(401, "expected an API token or a session, found neither")
    if not principal.may(needed):
        raise HttpRefusal(403, f"expected the permission {needed}, found {principal.name} without it; ask an admin")


async def _refuse(send: Send, refusal: HttpRefusal) -> None:
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
