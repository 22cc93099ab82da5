"""Making the ASGI application, which needs the extra ``console``, for an App that does not."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from stepward.client import Client
from stepward.errors import DeclarationError
from stepward.http.asgi import AsgiApplication

NEEDED = ("litestar", "uvicorn", "jinja2", "authlib", "httpx")
"""The packages of the extra."""


def mounted(make: Callable[[], Client], *, local_admin: bool, url: str | None) -> AsgiApplication:
    """The application around a client that is made with the first request.

    Raises DeclarationError where the extra is not installed.
    """
    missing = [package for package in NEEDED if find_spec(package) is None]
    if missing:
        raise DeclarationError(
            f"App.asgi: expected the package {missing[0]}, found none; run: pip install stepward[console]"
        )
    from stepward.http.access.rules import AccessRules  # noqa: PLC0415  an extra's
    from stepward.http.application import HttpApplication  # noqa: PLC0415  an extra's
    from stepward.http.client_source import ClientSource  # noqa: PLC0415  an extra's

    application: Any = HttpApplication(ClientSource(make), rules=AccessRules(local_admin=local_admin, url=url))
    found: AsgiApplication = application
    return found
