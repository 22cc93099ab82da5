"""The preview of a batch, and the token that proves that it was shown.

The token is signed with the key of the store. It holds what was asked for, by whom, and what the preview counted; a
batch is started only with the token of its own preview, of the last quarter of an hour.
"""

from __future__ import annotations

import base64
import hashlib
import hmac

import msgspec
from msgspec import Struct

from stepward.errors import Refused
from stepward.model.states import TaskState
from stepward.store.contract import BatchParameters, BatchVerb

PURPOSE = b"stepward batch\0"
"""Domain separation from what else is signed with the key of the store."""
VALID_SECONDS = 900.0
"""For so long a preview may be acted on."""
LONGEST_TOKEN = 400
CONFIRMED = frozenset({BatchVerb.RESUBMIT, BatchVerb.MARK_DONE, BatchVerb.UNDO, BatchVerb.CANCEL, BatchVerb.DELETE})
"""Acts for which people type the number of tasks: what they start cannot be taken back."""


class BatchOrder(Struct, frozen=True, kw_only=True):
    """The request of a batch: directive, filter and parameters."""

    verb: BatchVerb
    where: str
    parameters: BatchParameters = BatchParameters()
    workflows: list[str] = []
    labels: dict[str, str] = {}
    """With ``workflows`` the scope of the principal that asks."""
    actor: str


class BatchCount(Struct, frozen=True, array_like=True):
    """What the preview counted, and when."""

    number: int
    is_exact: bool
    as_of: float


class SampledTask(Struct, frozen=True, kw_only=True):
    """One of the tasks that would be asked first."""

    id: str
    workflow: str
    state: TaskState
    refusal: str | None
    """The reason for which the task would refuse; None if it would not."""


class BatchPreview(Struct, frozen=True, kw_only=True):
    """What a batch would do; nothing is changed by it."""

    order: BatchOrder
    count: BatchCount
    sample: list[SampledTask]
    """The first of the tasks, oldest first."""
    token: str
    """Needed to start it."""

    @property
    def needs_confirmation(self) -> bool:
        """Whether people are to type the number of tasks."""
        return self.order.verb in CONFIRMED


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


def confirmed_by(verb: BatchVerb, token: str, confirmed: int | None) -> bool:
    """Whether the number of tasks that the preview counted was given, where the act needs that.

    Whether the token is genuine is another question.
    """
    if verb not in CONFIRMED:
        return True
    try:
        return confirmed == msgspec.json.decode(_bytes(token.partition(".")[0]), type=BatchCount).number
    except (ValueError, msgspec.MsgspecError):
        # Said of the token, which is read next.
        return True


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
