"""Refusals of bodies before any route reads them: another media type, packed bytes, deep nesting."""

from __future__ import annotations

from typing import Any

from litestar import Request

from stepward.http.exception_handlers import HttpRefusal
from stepward.payload import DEPTH
from stepward.payload.nesting import is_deeper

ENVELOPE = 10
"""Levels of a body around the payloads in it."""


async def check_body(request: Request[Any, Any, Any]) -> None:
    """Raises HttpRefusal: 415 for a body that is not JSON or is packed, 422 for one that nests too deep."""
    has_body = request.headers.get("content-length", "0") != "0" or "transfer-encoding" in request.headers
    if not has_body:
        return
    given = request.headers.get("content-type", "")
    if given.partition(";")[0].strip().lower() != "application/json":
        raise HttpRefusal(415, f"Content-Type: expected application/json, found {given[:60]!r}", field="Content-Type")
    packed = request.headers.get("content-encoding", "identity")
    if packed.strip().lower() != "identity":
        raise HttpRefusal(
            415, f"Content-Encoding: expected none, found {packed[:60]!r}; send it unpacked", field="Content-Encoding"
        )
    if is_deeper(await request.body(), DEPTH + ENVELOPE):
        raise HttpRefusal(422, f"body: expected at most {DEPTH + ENVELOPE} levels of nesting, found more")
