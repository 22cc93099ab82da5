"""What an error of a model's provider means for the step: tried again, or failed for good."""

from __future__ import annotations

from stepward.agent.http.answers import LONGEST_WAIT, NOT_BEGUN
from stepward.errors import ServiceUnavailable, Unrecoverable


def outcome_of(
    message: str, *, status: int | None, retry_after: float | None, is_final: bool = False
) -> ServiceUnavailable | Unrecoverable:
    """The error to raise for one of the provider.

    A refusal (``is_final``, or a 4xx other than 408, 425 and 429) is not repeated. Anything else is, after the seconds
    of ``retry_after``; without a status (a lost connection, a time-out) the turn may have been done.
    """
    if is_final or (status is not None and 400 <= status < 500 and status not in NOT_BEGUN):
        return Unrecoverable(message, status=status)
    wait = retry_after if retry_after is not None and 0 <= retry_after <= LONGEST_WAIT else None
    return ServiceUnavailable(message, maybe_done=status not in NOT_BEGUN, retry_after=wait)
