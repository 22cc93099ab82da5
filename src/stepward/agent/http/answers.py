"""The meaning of an HTTP service's answers: done, refused for good, or to be tried again."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import msgspec

from stepward.errors import ServiceUnavailable, Unrecoverable

NOT_BEGUN = frozenset({408, 425, 429})
"""Statuses with which a service says that it did not begin, and may when asked again."""
EXCERPT = 200
SAFE = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
"""Methods that change nothing, so that no answer to them leaves a doubt."""
CONFLICT = 409
LONGEST_WAIT = 86_400.0
"""Seconds: a ``Retry-After`` beyond is a mistake, and ignored."""
LONGEST = 2_000
"""Most characters of a problem document that are kept in the error."""


class ServiceProblem(msgspec.Struct):
    """The fields of a problem document (RFC 9457) that are kept in the error."""

    title: str = ""
    detail: str = ""


def result(what: str, status: int, headers: Mapping[str, str], body: bytes, now: float | None, *, is_safe: bool) -> Any:
    """The JSON of a good answer, None if it is empty.

    Raises ServiceUnavailable for what may pass, Unrecoverable for what will not. ``now`` is the time, where that is
    known; ``is_safe`` says that the request changes nothing.
    """
    if 200 <= status < 300:
        return _json(what, status, body)
    message = f"{what}: expected success, found {status} {excerpt(body)}".rstrip()
    if status in NOT_BEGUN or status >= 500:
        raise ServiceUnavailable(message, maybe_done=status not in NOT_BEGUN, retry_after=retry_after(headers, now))
    raise Unrecoverable(message, maybe_done=not is_safe and _leaves_doubt(status), status=status)


def excerpt(body: bytes) -> str:
    """What a problem document says, or the beginning of any other body."""
    try:
        problem = msgspec.json.decode(body, type=ServiceProblem)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return body[:EXCERPT].decode(errors="replace").strip()
    return ": ".join(part for part in (problem.title, problem.detail) if part)[:LONGEST]


def retry_after(headers: Mapping[str, str], now: float | None) -> float | None:
    """The seconds of a ``Retry-After``: a number, or an HTTP date counted from the answer's own ``Date``.

    None where there is none, or one of more than a day.
    """
    text = headers.get("Retry-After", "").strip()
    try:
        asked = float(text)
    except ValueError:
        at, sent = _instant(text), _instant(headers.get("Date", ""))
        start = sent.timestamp() if sent is not None else now
        asked = at.timestamp() - start if at is not None and start is not None else math.nan
    return max(0.0, asked) if asked <= LONGEST_WAIT else None


def _leaves_doubt(status: int) -> bool:
    """Whether what was asked for may be done: many services answer a redirect then, or that the key is in use."""
    return status < 400 or status == CONFLICT


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
        found = parsedate_to_datetime(text)
        return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None
