"""Making the ASGI application, which needs the extra ``console``, for an App that does not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from stepward.client import Client
from stepward.errors import DeclarationError
from stepward.http.access.access_rules import AccessRules
from stepward.http.asgi import AsgiApplication
from stepward.settings.hook_settings import HookSettings

if TYPE_CHECKING:
    from stepward.http.sign_in.openid import OpenIdProvider

NEEDED = ("litestar", "uvicorn", "jinja2", "authlib", "httpx", "prometheus_client")
"""The packages of the extra."""


def check_extra(what: str, extra: str = "console") -> None:
    """Raises DeclarationError where the extra is not installed."""
    missing = [package for package in NEEDED if find_spec(package) is None]
    if missing:
        raise DeclarationError(
            f"{what}: expected the package {missing[0]}, found none; run: pip install stepward[{extra}]"
        )


def mounted(
    make: Callable[[], Client],
    rules: AccessRules,
    provider: OpenIdProvider | None = None,
    hooks: Sequence[HookSettings] | None = None,
) -> AsgiApplication:
    """The application around a client that is made with the first request.

    Raises DeclarationError where the extra is not installed.
    """
    check_extra("App.asgi")
    from stepward.console.routes import console_routes  # noqa: PLC0415  an extra's
    from stepward.http.application import HttpApplication  # noqa: PLC0415  an extra's
    from stepward.http.hooks import Hooks  # noqa: PLC0415  an extra's
    from stepward.http.shared_client import ClientSource  # noqa: PLC0415  an extra's
    from stepward.mcp_server.http_endpoint import McpEndpoint  # noqa: PLC0415  an extra's

    pages = console_routes()
    if find_spec("mcp") is not None:
        pages = [*pages, McpEndpoint().route()]
    application: Any = HttpApplication(
        ClientSource(make), rules=rules, provider=provider, pages=pages, hooks=Hooks(hooks or ())
    )
    found: AsgiApplication = application
    return found
