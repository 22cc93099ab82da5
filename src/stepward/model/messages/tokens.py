"""Completion tokens: the right to finish one attempt of a step from outside, as text that nobody can make up.

Pure: key and text in, text or what it stands for out. What a token is worth at an instant the step's row alone says.
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
"""Characters: more than the names of a step ever make."""
PURPOSE = b"stepward completion\0"
"""Nothing else that is signed with the same key can be taken for a token."""
NAME = re.compile(r"[A-Za-z0-9._:@~/-]{1,8000}")

Sign = Callable[[Request], str]
"""Makes the completion token of a request."""


class Claim(Struct, frozen=True, array_like=True):
    """The attempt that a token is for, as the token says."""

    app: str
    task: str
    """The uid."""
    run: int
    key: str
    """Of the step; the key of an undo says so itself."""
    attempt: int


class Token(Struct, frozen=True):
    """A token that could be read."""

    claim: Claim
    is_genuine: bool
    """Whether it was signed with the key."""


def signer(app: str, key: bytes) -> Sign:
    """Signs for the application whose store keeps ``key``."""

    def sign(request: Request) -> str:
        body = msgspec.json.encode(Claim(app, request.task, request.run, request.key, request.attempt))
        return f"{_text(body)}.{_text(_mac(key, body))}"

    return sign


def read_token(text: object, key: bytes) -> Token | None:
    """What the text stands for; None for what is no token at all."""
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
