"""Visitors: distinguished by a random cookie, and by nothing else."""

from __future__ import annotations

import re
import secrets

from starlette.requests import Request
from starlette.responses import Response

COOKIE = "shop_visitor"
TOKEN = re.compile(r"[0-9a-f]{32}")
KEPT_SECONDS = 365 * 86_400


def visitor_of(request: Request) -> str:
    """The visitor who asks; one who brings no cookie of ours gets a new name, the same for all of the request."""
    known = request.cookies.get(COOKIE, "")
    if TOKEN.fullmatch(known):
        return known
    if not hasattr(request.state, "new_visitor"):
        request.state.new_visitor = secrets.token_hex(16)
    return str(request.state.new_visitor)


def remember(request: Request, response: Response) -> Response:
    """The response, with the cookie for a visitor who is new."""
    visitor = getattr(request.state, "new_visitor", None)
    if visitor is not None:
        is_secure = request.url.scheme == "https"
        response.set_cookie(COOKIE, visitor, max_age=KEPT_SECONDS, httponly=True, samesite="lax", secure=is_secure)
    return response
