"""``/api/v1/me``: the principal that sends the request."""

from __future__ import annotations

from litestar import get
from msgspec import Struct

from stepward.http.access.permissions import Permission
from stepward.http.dependencies import RequestPrincipal


class PrincipalResource(Struct, frozen=True, kw_only=True):
    """The principal that sends the request."""

    name: str
    role: str
    payloads: bool
    workflows: list[str]
    labels: dict[str, str]


@get("/me", permission=Permission.SIGNED_IN)
async def show_principal(principal: RequestPrincipal) -> PrincipalResource:
    """Show the principal that sends the request, and its permissions."""
    return PrincipalResource(
        name=principal.name,
        role=principal.role,
        payloads=principal.payloads,
        workflows=list(principal.scope.workflows),
        labels=dict(principal.scope.labels),
    )
