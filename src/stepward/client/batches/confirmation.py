"""Confirmation of a batch by people: they type the number of tasks that its preview counted."""

from __future__ import annotations

import msgspec

from stepward.client.batches.preview import CONFIRMED
from stepward.client.batches.preview_tokens import counted_in
from stepward.store.contract import BatchVerb


def confirmed_by(verb: BatchVerb, token: str, confirmed: int | None) -> bool:
    """Whether the number of tasks that the preview counted was given, where the act needs that.

    Whether the token is genuine is another question.
    """
    if verb not in CONFIRMED:
        return True
    try:
        return confirmed == counted_in(token).number
    except (ValueError, msgspec.MsgspecError):
        # Said of the token, which is read next.
        return True
