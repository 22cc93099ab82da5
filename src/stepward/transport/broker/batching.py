"""Batching: messages that leave together share a broker message, up to bounds of number and bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from stepward.errors import PayloadTooLarge
from stepward.model.messages.requests import Outcome, Progress, Reply, Request
from stepward.payload import encode
from stepward.transport.contract import AgentMessage
from stepward.transport.wire.encoding import Wire, join

MOST_TOGETHER = 64
"""Most messages in a batch: larger ones gain nothing, and a consumer with little room would return the rest."""
TOGETHER_BYTES = 256 * 1024
NEVER = float("inf")


class MessageBatch(Struct, frozen=True, gc=False):
    """A broker message to send; the broker may drop it after ``expires_at``, by the store's clock."""

    body: bytes
    expires_at: float
    is_returned: bool = False
    """Whether a message in it may have been delivered before, so that it does not count as new."""


class Batcher:
    """Makes batches of messages; none is larger than ``limit`` bytes."""

    def __init__(self, wire: Wire, broker: str) -> None:
        self._wire = wire
        self._broker = broker

    def batches(
        self, messages: Sequence[AgentMessage], now: float, limit: int, *, is_returned: bool = False
    ) -> Iterator[MessageBatch]:
        """The messages in as few batches as possible."""
        events: list[bytes] = []
        size, expires_at = 0, 0.0
        for message in messages:
            event = self._wire.encode(message, now)
            if events and (len(events) == MOST_TOGETHER or size + len(event) > min(limit, TOGETHER_BYTES) - 2):
                yield MessageBatch(join(events), expires_at, is_returned)
                events, size, expires_at = [], 0, 0.0
            events.append(event)
            size += len(event) + 1
            expires_at = max(expires_at, message.complete_by if isinstance(message, Request) else NEVER)
        if events:
            yield MessageBatch(join(events), expires_at, is_returned)

    def is_too_large(self, message: AgentMessage, limit: int) -> bool:
        """Whether the broker would refuse the message even alone."""
        if isinstance(message, Progress):
            return False  # The size is bounded far below the limit.
        body = message.input if isinstance(message, Request) else message.output or message.error or b""
        # Most are far below the limit; only those near it are measured exactly.
        return len(body) * 2 > limit and len(self._wire.encode(message, 0.0)) + 2 > limit

    def refusal(self, message: AgentMessage, limit: int) -> Reply:
        """The reply that replaces one that is too large: the step fails with this reason."""
        found = len(self._wire.encode(message, 0.0)) + 2
        text = (
            f"{message.key}: expected a message of at most {limit:,} bytes over {self._broker}, found {found:,}; "
            "pass a reference instead, or raise the broker's limit"
        )
        error = encode({"message": text, "type": PayloadTooLarge.__name__, "data": {}}, "error")
        if isinstance(message, Request):
            return self._wire.signed(message).failed(error, maybe_done=False, calls=0)
        calls = message.calls if isinstance(message, Reply) else 1
        return Reply(
            task=message.task,
            run=message.run,
            key=message.key,
            attempt=message.attempt,
            outcome=Outcome.FAILED,
            error=error,
            maybe_done=True,
            calls=calls,
            agent=message.agent,
            proof=message.proof,
        )
