"""Queues in the store, as far as the engines share them; each has its own ``take``, ``answer`` and ``read``."""

from __future__ import annotations

from collections.abc import Sequence

from stepward.model.messages.change_kinds import of_queue
from stepward.store.contract import StoredMessage
from stepward.store.rules.message_ranges import end_of_prefix, request_range
from stepward.store.verbs import connection as ask
from stepward.store.verbs.engine import VerbPart
from stepward.store.verbs.queues import dead_letters


class MessageVerbs(VerbPart):
    """Implements ``MessageStore`` without ``take``, ``answer`` and ``read``."""

    async def put(self, queue: str, bodies: Sequence[tuple[bytes, float | None]]) -> None:
        if bodies:
            await self._transactions.batch(ask.change_each, "messages.put", bodies, queue)
            self._ring(of_queue(queue))

    async def settle(self, queue: str, tokens: Sequence[int]) -> None:
        await self._transactions.batch(ask.change_each, "messages.delete", [(token,) for token in tokens], queue)

    async def extend(self, queue: str, tokens: Sequence[int], lease: float) -> Sequence[int]:
        until = self._clock.now() + lease
        many = [(token,) for token in tokens]
        if await self._transactions.batch(ask.change_each, "messages.extend", many, queue, until) == len(tokens):
            return []
        found = await self._transactions.read(ask.rows, "messages.are_there", list(tokens), queue)
        there = {token for (token,) in found}
        return [token for token in tokens if token not in there]

    async def withdraw(self, queue: str, beginning: bytes, part: bytes) -> list[StoredMessage]:
        values = (queue, *request_range(beginning), beginning, part)
        found = await self._transactions.single(ask.rows, "messages.withdraw", *values)
        return [StoredMessage(token, body, tries) for token, body, tries in found]

    async def bury(self, queue: str, dead: Sequence[tuple[int, str]], events: Sequence[tuple[str, bytes]] = ()) -> None:
        if dead:
            await self._transactions.write(dead_letters.bury, queue, dead, events, self._clock.now())
            if events:
                self._ring()

    async def bury_bodies(
        self, queue: str, dead: Sequence[tuple[bytes, str, int]], events: Sequence[tuple[str, bytes]] = ()
    ) -> None:
        if dead:
            await self._transactions.write(dead_letters.bury_bodies, queue, dead, events, self._clock.now())
            if events:
                self._ring()

    async def filled(self, queues: Sequence[str]) -> set[str]:
        found = await self._transactions.read(ask.rows, "messages.filled", list(queues), self._clock.now())
        return {queue for (queue,) in found}

    async def nonempty(self, prefix: str, limit: int) -> list[str]:
        values = (prefix, end_of_prefix(prefix), limit)
        return [queue for (queue,) in await self._transactions.read(ask.rows, "messages.nonempty", *values)]

    async def adopt(self, queue: str, heir: str) -> int:
        count = await self._transactions.single(ask.change, "messages.adopt", queue, heir)
        if count:
            self._ring(of_queue(heir))
        return count
