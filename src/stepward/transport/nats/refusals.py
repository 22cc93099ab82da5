"""What a NATS server refuses, as opposed to what it cannot do for the moment."""

from __future__ import annotations

from nats.js.errors import APIError

TOO_LARGE = 10054
"""The server's number for a message larger than its stream takes."""
PASSING = frozenset({10003, 10004, 10006, 10007, 10008, 10009, 10014, 10015, 10059, 10118, 10119})
"""The server's numbers for what passes or is put right by itself: a cluster without a leader, a missing stream."""
PERMISSIONS = "permissions violation"
CREATES = ".create."
"""What the subject of a request holds that makes a stream or a consumer."""


def refusal(error: BaseException | None) -> str | None:
    """Why the server refuses; None for an error that is no refusal."""
    if not isinstance(error, APIError) or error.err_code is None or error.err_code in PASSING:
        return None
    return f"{error.description} (JetStream error {error.err_code})"


def advice(reason: str) -> str:
    """What helps against a refusal."""
    if PERMISSIONS in reason and CREATES in reason:
        return "start a Scheduler first, which makes it; the login of a Scheduler needs that permission"
    return "look at the limits and permissions there"
