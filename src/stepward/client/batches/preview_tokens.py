"""The token that proves that the preview of a batch was shown.

It is signed with the key of the store. It holds what was asked for, by whom, and what the preview counted; a
batch is started only with the token of its own preview, of the last quarter of an hour.
"""

from __future__ import annotations

import base64
import hashlib
import hmac

import msgspec

from stepward.client.batches.preview import BatchCount, BatchOrder
from stepward.errors import Refused

PURPOSE = b"stepward batch\0"
"""Domain separation from what else is signed with the key of the store."""
VALID_SECONDS = 900.0
"""For so long a preview may be acted on."""
LONGEST_TOKEN = 400


def token_of(order: BatchOrder, count: BatchCount, key: bytes) -> str:
    """The token of a preview."""
    body = msgspec.json.encode(count)
    return f"{_text(body)}.{_text(_mac(order, body, key))}"


def read_preview_token(token: str, order: BatchOrder, key: bytes, now: float) -> BatchCount:
    """What the preview of just this order counted. Raises Refused for any other token, or one that is too old."""
    body, _, signature = token.partition(".") if isinstance(token, str) and len(token) <= LONGEST_TOKEN else ("",) * 3
    try:
        data, given = _bytes(body), _bytes(signature)
        count = msgspec.json.decode(data, type=BatchCount)
    except (ValueError, msgspec.MsgspecError):
        raise _other() from None
    if not hmac.compare_digest(given, _mac(order, data, key)):
        raise _other()
    if not count.as_of - VALID_SECONDS <= now <= count.as_of + VALID_SECONDS:
        raise Refused("preview: expected one of the last 15 minutes, found an older one; look again, then decide")
    return count


def counted_in(token: str) -> BatchCount:
    """What the preview counted, by a token that may be forged. Raises ValueError or MsgspecError for other texts."""
    return msgspec.json.decode(_bytes(token.partition(".")[0]), type=BatchCount)


def _other() -> Refused:
    return Refused(
        "preview: expected the token of a preview of just this act by the same principal, found none; ask for a preview"
    )


def _mac(order: BatchOrder, body: bytes, key: bytes) -> bytes:
    return hmac.digest(key, PURPOSE + msgspec.json.encode([order, msgspec.Raw(body)]), hashlib.sha256)


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _bytes(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
