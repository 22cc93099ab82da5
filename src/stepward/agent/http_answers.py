"""What the answers of an HTTP service mean: done, refused for good, or to be tried again."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any

import msgspec

from stepward.errors import ServiceUnavailable, Unrecoverable

NOT_BEGUN = frozenset({408, 425, 429})
"""Statuses with which a service says that it did not begin, and may when asked again."""
EXCERPT = 200


class Problem(msgspec.Struct):
    """A problem document (RFC 9457), as far as people are told of it."""

    title: str = ""
    detail: str = ""


def result(what: str, status: int, headers: Mapping[str, str], body: bytes, now: float | None) -> Any:
    """The JSON of a good answer, None if it is empty.

    Raises ServiceUnavailable for what may pass, Unrecoverable for what will not. ``now`` is the time,
    where that is known.
    """
    if 200 <= status < 300:
        return _json(what, status, body)
    message = f"{what}: expected success, found {status} {told(body)}".rstrip()
    if status in NOT_BEGUN or status >= 500:
        raise ServiceUnavailable(message, maybe_done=status not in NOT_BEGUN, retry_after=retry_after(headers, now))
    raise Unrecoverable(message, status=status)


def told(body: bytes) -> str:
    """What a problem document says, or the beginning of any other body."""
    try:
        problem = msgspec.json.decode(body, type=Problem)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return body[:EXCERPT].decode(errors="replace").strip()
    return ": ".join(part for part in (problem.title, problem.detail) if part)


def retry_after(headers: Mapping[str, str], now: float | None) -> float | None:
    """The seconds of a ``Retry-After``: a number, or an HTTP date counted from the answer's own ``Date``."""
    text = headers.get("Retry-After", "").strip()
    try:
        asked = float(text)
    except ValueError:
        at, sent = _instant(text), _instant(headers.get("Date", ""))
        start = sent.timestamp() if sent is not None else now
        asked = at.timestamp() - start if at is not None and start is not None else math.nan
    return max(0.0, asked) if math.isfinite(asked) else None


def _json(what: str, status: int, body: bytes) -> Any:
    if not body.strip():
        return None
    try:
        return msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Unrecoverable(
            f"{what}: expected JSON, found {status} with another body ({error}); use agent.client for it",
            maybe_done=True,
            status=status,
        ) from None


def _instant(text: str) -> datetime | None:
    try:
        return parsedate_to_datetime(text)
    except ValueError:
        return None
