"""The ASGI application: all routes behind the choke point, with one client."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from litestar import Litestar, Request, Response, Router
from litestar.datastructures import State
from litestar.di import Provide
from litestar.routes import HTTPRoute
from litestar.types import ControllerRouterHandler, Receive, Scope, Send

from stepward.http import health
from stepward.http.access.access_audit import AccessAudit
from stepward.http.access.access_rules import AccessRules
from stepward.http.access.authentication import Credentials
from stepward.http.access.choke_point import ChokePoint, authorize
from stepward.http.access.permissions import Permission
from stepward.http.access.principals import Principal
from stepward.http.access.scopes.scoped_client import ScopedClient
from stepward.http.access.two_person import ActProposed
from stepward.http.api.body_checks import check_body
from stepward.http.api.openapi_document import describe_problems, openapi
from stepward.http.api.routes import API_ROUTES
from stepward.http.api.tasks.proposals import proposed
from stepward.http.api.tasks.task_paths import API
from stepward.http.exception_handlers import EXCEPTION_HANDLERS
from stepward.http.hooks import Hooks, hook_routes
from stepward.http.metrics import Scrapes, metrics
from stepward.http.security_headers import SECURITY_HEADERS
from stepward.http.shared_client import ClientSource
from stepward.http.sign_in.openid import OpenIdProvider
from stepward.http.sign_in.routes import SIGN_IN_ROUTES
from stepward.http.streaming.stream_limits import StreamSlots

BODY_BYTES = 64 * 1024
"""Most bytes of a request's body in addition to the payload that it carries."""
PAYLOAD_BYTES = 1024 * 1024
MISSING = "Stepward-Missing-Partitions"
"""The header that names partitions whose stores cannot be reached."""


class HttpApplication:
    """The API and the pages of one store, as an ASGI application.

    Mounted in another application, it opens its client with the first request; the lifespan of the outer application
    should enter ``async with``, so that the client is closed.
    """

    def __init__(
        self,
        source: ClientSource,
        *,
        rules: AccessRules,
        provider: OpenIdProvider | None = None,
        pages: Sequence[ControllerRouterHandler] = (),
        hooks: Hooks,
    ) -> None:
        self._source = source
        audit = AccessAudit(source)
        credentials = Credentials(source, audit)
        state = {
            "source": source,
            "rules": rules,
            "audit": audit,
            "credentials": credentials,
            "slots": StreamSlots(),
            "provider": provider,
            "scrapes": Scrapes(),
            "checks": health.StoreChecks(),
            "hooks": hooks,
        }
        self.litestar = _litestar(state, [*pages, *hook_routes(hooks)])
        describe_problems(self.litestar)
        self.routes = declared_routes(self.litestar)
        self._choke_point = ChokePoint(
            self.litestar,
            rules=rules,
            authenticator=credentials,
            audit=audit,
            public=frozenset(path for path, _, permission in self.routes if permission is Permission.PUBLIC),
            headers=SECURITY_HEADERS,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request."""
        await self._choke_point(scope, receive, send)

    async def __aenter__(self) -> HttpApplication:
        await self._source.client()
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self._source.close()


def declared_routes(litestar: Litestar) -> list[tuple[str, str, Permission]]:
    """Every path with its methods, and the permission that it declares. Raises RuntimeError for a route without one."""
    found = []
    for route in litestar.routes:
        if not isinstance(route, HTTPRoute):
            raise RuntimeError(f"route {route.path}: expected HTTP alone, found another protocol; leave it out")
        for handler in route.route_handlers:
            for method in sorted(handler.http_methods):
                if method == "OPTIONS":
                    continue
                permission = handler.opt.get("permission")
                if not isinstance(permission, Permission):
                    raise RuntimeError(f"route {method} {route.path}: expected a permission, found none; declare one")
                if permission is Permission.PUBLIC and "{" in route.path:
                    raise RuntimeError(f"route {method} {route.path}: expected no parameter in a public path")
                found.append((route.path, str(method), permission))
    return found


def _litestar(state: dict[str, Any], pages: Sequence[ControllerRouterHandler]) -> Litestar:
    api = Router(API, route_handlers=API_ROUTES, before_request=check_body, after_request=_marking(state["source"]))
    return Litestar(
        [health.livez, health.readyz, metrics, api, *SIGN_IN_ROUTES, *pages],
        guards=[authorize],
        dependencies={
            "client": Provide(_client),
            "principal": Provide(_principal, sync_to_thread=False),
        },
        exception_handlers={**EXCEPTION_HANDLERS, ActProposed: proposed},
        openapi_config=openapi(),
        request_max_body_size=PAYLOAD_BYTES + BODY_BYTES,
        state=State(state),
        on_shutdown=[state["source"].close],
        logging_config=None,
        debug=False,
    )


def _marking(source: ClientSource) -> Callable[[Response[Any]], Response[Any]]:
    """Adds a header to an answer that may lack what partitions have which cannot be reached."""

    def marked(answer: Response[Any]) -> Response[Any]:
        missing = source.missing_partitions()
        if missing:
            answer.headers[MISSING] = ", ".join(missing)
        return answer

    return marked


async def _client(request: Request[Any, Any, Any], state: State) -> ScopedClient:
    source: ClientSource = state.source
    return ScopedClient(
        await source.client(), request.scope["user"], state.audit, needs_two_persons=state.rules.two_person
    )


def _principal(request: Request[Any, Any, Any]) -> Principal:
    found: Principal = request.scope["user"]
    return found
