"""Completion tokens: the right to finish one attempt of a step from outside, as text that cannot be forged.

Pure: key and text in, text or its meaning out. Whether a token is still valid only the step's row says.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Callable

import msgspec
from msgspec import Struct

from stepward.model.messages.requests import Request

KEY_BYTES = 32
LONGEST = 16_000
"""Most characters: more than a step's names ever give."""
PURPOSE = b"stepward completion\0"
"""Domain separation: nothing else that is signed with the same key can pass for a token."""
NAME = re.compile(r"[A-Za-z0-9._:@~/-]{1,8000}")

Sign = Callable[[Request], str]
"""Makes the completion token of a request."""


class Claim(Struct, frozen=True, array_like=True):
    """The attempt that a token names."""

    app: str
    task: str
    """The uid."""
    run: int
    key: str
    """The step's key; the key of an undo shows that it is one."""
    attempt: int


class Token(Struct, frozen=True):
    """A decoded token."""

    claim: Claim
    is_genuine: bool
    """Whether it was signed with the key."""


def signer(app: str, key: bytes) -> Sign:
    """Signs for the application whose store has ``key``."""

    def sign(request: Request) -> str:
        body = msgspec.json.encode(Claim(app, request.task, request.run, request.key, request.attempt))
        return f"{_text(body)}.{_text(_mac(key, body))}"

    return sign


def read_token(text: object, key: bytes) -> Token | None:
    """The decoded token; None for any other text."""
    body, _, signature = text.partition(".") if isinstance(text, str) and len(text) <= LONGEST else ("", "", "")
    try:
        data, given = _bytes(body), _bytes(signature)
        claim = msgspec.json.decode(data, type=Claim)
    except (ValueError, msgspec.MsgspecError):
        return None
    names = (claim.app, claim.task, claim.key)
    if not all(map(NAME.fullmatch, names)) or not 0 <= claim.run < 2**31 or not 0 <= claim.attempt < 2**31:
        return None
    return Token(claim, hmac.compare_digest(given, _mac(key, data)))


def _mac(key: bytes, body: bytes) -> bytes:
    return hmac.digest(key, PURPOSE + body, hashlib.sha256)


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _bytes(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
