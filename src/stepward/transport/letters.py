"""Where what came over a broker and nobody can use lies until an operator looks: the store's dead letters."""

from __future__ import annotations

from collections.abc import Sequence

from stepward.errors import StoreError, TransportError
from stepward.transport.queues import Messages
from stepward.transport.wire import Spoilt

LEASE = 10.0


class DeadLetters:
    """Buries messages of brokers in the store, under the name of the queue that they came over."""

    def __init__(self, messages: Messages) -> None:
        self._messages = messages

    async def bury(self, queue: str, letters: Sequence[Spoilt]) -> None:
        """Put them into the store and there to the dead letters. Raises TransportError."""
        reasons = {letter.body: letter.reason for letter in letters}
        try:
            await self._messages.put(queue, [(body, None) for body in reasons])
            # Whatever stands in a queue that no transport reads was put there for this, also by one who died over it.
            while stored := await self._messages.take(queue, len(reasons), LEASE):
                why = "expected a request or a reply, found neither"
                await self._messages.bury(queue, [(item.token, reasons.get(item.body, why)) for item in stored])
        except StoreError as error:
            raise TransportError(f"queue {queue}: expected the store to take a dead letter, found: {error}") from error
