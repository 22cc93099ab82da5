"""What leaves for a broker: messages that go together share a broker message, up to bounds of number and bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from stepward.errors import PayloadTooLarge
from stepward.model.messages.answers import failed
from stepward.model.messages.requests import Outcome, Progress, Reply, Request
from stepward.payload import encode
from stepward.transport.contract import AgentMessage
from stepward.transport.wire.wire import Wire, join

MOST_TOGETHER = 64
"""More gain nothing, and whoever has room for a few would have to give the others back."""
TOGETHER_BYTES = 256 * 1024
NEVER = float("inf")


class MessageBatch(Struct, frozen=True, gc=False):
    """A broker message to be; it may be forgotten after ``expires_at``, by the store's clock."""

    body: bytes
    expires_at: float
    is_returned: bool = False
    """Whether somebody may have had some of it: it is not fresh, though the broker has it anew."""


class Batcher:
    """Makes parcels of messages; none is larger than ``limit`` bytes."""

    def __init__(self, wire: Wire, broker: str) -> None:
        self._wire = wire
        self._broker = broker

    def batches(
        self, messages: Sequence[AgentMessage], now: float, limit: int, *, is_returned: bool = False
    ) -> Iterator[MessageBatch]:
        """The messages in as few parcels as may be."""
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
        """Whether the broker would refuse it even alone."""
        if isinstance(message, Progress):
            return False  # bounded far below
        body = message.input if isinstance(message, Request) else message.output or message.error or b""
        # Most are far below; only what is near is looked at closely.
        return len(body) * 2 > limit and len(self._wire.encode(message, 0.0)) + 2 > limit

    def refusal(self, message: AgentMessage, limit: int) -> Reply:
        """The reply in place of a message that is too large: the step fails, and says why."""
        found = len(self._wire.encode(message, 0.0)) + 2
        text = (
            f"{message.key}: expected a message of at most {limit:,} bytes over {self._broker}, found {found:,}; "
            "pass a reference instead, or raise the broker's limit"
        )
        error = encode({"message": text, "type": PayloadTooLarge.__name__, "data": {}}, "error")
        if isinstance(message, Request):
            return failed(self._wire.signed(message), error, maybe_done=False, calls=0)
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
