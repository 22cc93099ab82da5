"""``POST /mcp``: the tools over streamable HTTP, beside the API, for an assistant that reaches the console.

Each request stands for itself: there is no session, and no stream from the server. The call of a tool is a request to
the API behind the choke point, with the caller's own token, as over stdin and stdout.
"""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
from litestar import Request, post
from litestar.handlers import HTTPRouteHandler
from litestar.types import ASGIApp, Receive, Scope, Send

from stepward.client import session_of
from stepward.http.access.access_rules import AccessRules
from stepward.http.access.choke_point import ChokePoint
from stepward.http.access.incoming_request import IncomingRequest
from stepward.http.access.permissions import Permission
from stepward.http.access.principals import Principal, SignIn
from stepward.http.exception_handlers import HttpRefusal
from stepward.http.security_headers import SECURITY_HEADERS
from stepward.mcp_server.tool_schemas import ApiOperation

PATH = "/mcp"
MESSAGE_BYTES = 1024 * 1024 + 64 * 1024
"""Most bytes of a message: a payload and what surrounds it."""
SECONDS = 60.0
"""Most seconds of one request to the API."""
HERE = "http://127.0.0.1"


class McpEndpoint:
    """Answers messages of assistants; keeps the operations of the API, which are the same for each of them."""

    def __init__(self) -> None:
        self._operations: dict[str, ApiOperation] | None = None
        self._is_imported = False

    def route(self) -> HTTPRouteHandler:
        """The route of the endpoint."""

        @post(PATH, permission=Permission.SIGNED_IN, include_in_schema=False, status_code=200)
        async def mcp_endpoint(request: Request[Any, Any, Any]) -> ASGIApp:
            """Answer a message of the Model Context Protocol."""
            check_caller(request.scope["user"], request.scope["auth"])

            async def answer(scope: Scope, receive: Receive, send: Send) -> None:
                await self._answer(request, scope, receive, send)

            return answer

        return mcp_endpoint

    async def _answer(self, request: Request[Any, Any, Any], scope: Scope, receive: Receive, send: Send) -> None:
        if not self._is_imported:
            # In a thread, as the SDK takes a second: the console's other requests are answered meanwhile.
            await asyncio.to_thread(_import_server)
            self._is_imported = True
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager  # noqa: PLC0415  imported above

        from stepward.mcp_server.tool_handlers import mcp_server, operations_of  # noqa: PLC0415  imported above

        state = request.app.state
        app = session_of(await state.source.client()).app
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(_api_behind(request), client=(scope["auth"].address, 0)),
            base_url=HERE,
            headers=_credential(request),
            timeout=SECONDS,
        ) as client:
            if self._operations is None:
                self._operations = await operations_of(client)
            server = await mcp_server(client, app, self._operations)
            manager = StreamableHTTPSessionManager(
                server, json_response=True, stateless=True, max_request_body_size=MESSAGE_BYTES
            )
            async with manager.run():
                await manager.handle_request(scope, receive, send)  # type: ignore[arg-type]


def _import_server() -> None:
    """Import what answers: with the first message, because most consoles never get one."""
    import mcp.server.streamable_http_manager  # noqa: F401, PLC0415

    import stepward.mcp_server.tool_handlers  # noqa: F401, PLC0415


def check_caller(principal: Principal, incoming: IncomingRequest) -> None:
    """Raises HttpRefusal (403) for a session of a browser, and for a page of another site, whatever it sends."""
    if principal.sign_in is SignIn.SESSION:
        raise HttpRefusal(
            403, "expected an API token, found the session of a browser; send Authorization: Bearer TOKEN"
        )
    incoming.check_origin(needed=False)


def _api_behind(request: Request[Any, Any, Any]) -> Any:
    """The API behind a choke point of its own, in which a request without a token is the viewer ``assistant``."""
    state = request.app.state
    return ChokePoint(
        request.app,
        rules=AccessRules(local_viewer=True),
        authenticator=state.credentials,
        audit=state.audit,
        public=frozenset(),
        headers=SECURITY_HEADERS,
    )


def _credential(request: Request[Any, Any, Any]) -> dict[str, str]:
    given = request.headers.get("authorization")
    return {} if given is None else {"Authorization": given}
