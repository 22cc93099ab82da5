"""Checks before every page: no request from a foreign site changes anything, and no page runs foreign code."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# A page that was led here under another name (DNS rebinding) is refused along with everything else that is not.
KNOWN_HOSTS = ("127.0.0.1", "localhost")
LARGEST_FORM = 1024
READING = ("GET", "HEAD")
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-cache",
}


class Guard:
    """Refuses what a foreign site asks to change, and sends the headers above with every answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See the ASGI specification."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        if scope["method"] not in READING and is_foreign(Headers(scope=scope)):
            refusal = PlainTextResponse("expected a request from this page, found one from another site", 403)
            await refusal(scope, receive, send_with_headers)
        else:
            await self._app(scope, receive, send_with_headers)


def is_foreign(headers: Mapping[str, str]) -> bool:
    """Whether a browser sent this for another site's page; what is no browser says nothing and is let in."""
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site not in ("same-origin", "none")
    origin = headers.get("origin")
    return origin is not None and urlsplit(origin).netloc != headers.get("host")


async def read_form(request: Request) -> bytes:
    """The body of a form. Raises HTTPException 413 for a larger one than any of ours."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > LARGEST_FORM:
            raise HTTPException(413, f"expected a form of at most {LARGEST_FORM} bytes, found more")
    return bytes(body)
