"""Checks before every page: no other site changes anything here, and no page runs foreign code."""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Mapping, Sequence
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

READING = ("GET", "HEAD")
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    # Not "no-referrer": browsers would then send our own forms with a foreign Origin.
    "Referrer-Policy": "same-origin",
}


class RequestGuard:
    """Answers with `refusal` what another site's page asks to change, and sends the headers above with every answer.

    What is asked of a host that is not ours gets `elsewhere`: else a page under a name that is made to lead here could
    read ours. A numeric address cannot be such a name, and is always ours.

    Pages are of one visitor and of one moment, so nothing keeps them; a static file is kept under its version's URL.
    """

    def __init__(self, app: ASGIApp, refusal: ASGIApp, elsewhere: ASGIApp, hosts: Collection[str]) -> None:
        self._app = app
        self._refusal = refusal
        self._elsewhere = elsewhere
        self._hosts = {"localhost", *(host.lower() for host in hosts)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See the ASGI specification."""

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                headers["Cache-Control"] = _kept(headers, scope)
            await send(message)

        await self._chosen(scope)(scope, receive, send_guarded)

    def _chosen(self, scope: Scope) -> ASGIApp:
        headers = Headers(scope=scope)
        host = host_of(headers.getlist("host"))
        if host is None or not (host in self._hosts or is_address(host)):
            return self._elsewhere
        is_refused = scope["method"] not in READING and is_foreign(headers)
        return self._refusal if is_refused else self._app


def host_of(given: Sequence[str]) -> str | None:
    """The host that a request names, without its port; None unless it names one."""
    if len(given) != 1:
        return None
    try:
        return urlsplit(f"//{given[0]}").hostname
    except ValueError:
        return None


def is_address(host: str) -> bool:
    """Whether it is an address and no name."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _kept(headers: Mapping[str, str], scope: Scope) -> str:
    if "etag" not in headers:
        return "no-store"
    return "public, max-age=31536000, immutable" if scope["query_string"].startswith(b"v=") else "no-cache"


def is_foreign(headers: Mapping[str, str]) -> bool:
    """Whether a browser sent this for another site's page; what is no browser says nothing, and is let in."""
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site not in ("same-origin", "none")
    origin = headers.get("origin")
    return origin is not None and urlsplit(origin).netloc != headers.get("host")
