"""Forms as they come in: read within bounds, and trusted in nothing."""

from __future__ import annotations

from urllib.parse import parse_qsl

from starlette.datastructures import ImmutableMultiDict
from starlette.requests import Request

from examples.shop.storefront.refusal import PageRefusal

LARGEST_FORM = 64 * 1024
MOST_FIELDS = 100
UNREAD = "We could not read that"
FORM = "application/x-www-form-urlencoded"

Form = ImmutableMultiDict[str, str]


async def read_form(request: Request) -> Form:
    """The fields of a form; raises a Refusal of 400, 413 or 415."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != FORM:
        raise PageRefusal(415, UNREAD, f"We expected a form as {FORM} and found {kind[:60] or 'something else'}.")
    body = await _read(request)
    try:
        fields = parse_qsl(body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS)
    except ValueError:
        raise PageRefusal(400, UNREAD, f"We expected a form of at most {MOST_FIELDS} fields in UTF-8.") from None
    return ImmutableMultiDict(fields)


async def _read(request: Request) -> bytes:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > LARGEST_FORM:
            raise PageRefusal(413, "That is too much at once", f"A form may have at most {LARGEST_FORM:,} bytes.")
    return bytes(body)
