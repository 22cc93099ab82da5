"""Refusals of a NATS server, as opposed to temporary failures."""

from __future__ import annotations

from nats.js.errors import APIError

TOO_LARGE = 10054
"""The server's error code for a message larger than its stream takes."""
PASSING = frozenset({10003, 10004, 10006, 10007, 10008, 10009, 10014, 10015, 10059, 10118, 10119})
"""Error codes of temporary conditions: a cluster without a leader, a missing stream."""
PERMISSIONS = "permissions violation"
SUBSCRIBES = "subscription to "
"""What a permission error says in front of a subject that a login may not hear."""
CREATES = ".create."
"""Subject parts of requests that make a stream or a consumer."""


def refusal(error: BaseException | None) -> str | None:
    """The server's reason; None for an error that is no refusal."""
    if not isinstance(error, APIError) or error.err_code is None or error.err_code in PASSING:
        return None
    return f"{error.description} (JetStream error {error.err_code})"


def advice(reason: str) -> str:
    """What to do about a refusal."""
    if PERMISSIONS in reason and CREATES in reason:
        return "start a Scheduler first, which makes it; the login of a Scheduler needs that permission"
    return "look at the limits and permissions there"
