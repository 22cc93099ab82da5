"""A store of messages small enough to be right at a glance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from stepward.errors import StoreUnavailable


@dataclass
class Row:
    token: int
    queue: str
    body: bytes
    expires_at: float | None
    taken_until: float = 0.0
    tries: int = 0


class SmallStore:
    def __init__(self, now: Callable[[], float]) -> None:
        self.now = now
        self.rows: list[Row] = []
        self.takes = 0
        self.looks = 0
        self.buried: list[tuple[bytes, str]] = []
        self.is_down = False
        self._token = 0

    async def put(self, queue: str, bodies: Sequence[tuple[bytes, float | None]]) -> None:
        self._check()
        for body, expires_at in bodies:
            self._token += 1
            self.rows.append(Row(self._token, queue, body, expires_at))

    async def take(self, queue: str, limit: int, lease: float) -> list[Row]:
        self._check()
        self.takes += 1
        now = self.now()
        self.rows = [row for row in self.rows if row.expires_at is None or row.expires_at > now]
        free = [row for row in self.rows if row.queue == queue and row.taken_until <= now]
        free = [row for row in free if row.taken_until][:1] or free[:limit]
        for row in free:
            row.taken_until = now + lease
            row.tries += 1
        return free

    async def settle(self, queue: str, tokens: Sequence[int]) -> None:
        self._check()
        self.rows = [row for row in self.rows if row.queue != queue or row.token not in tokens]

    async def extend(self, queue: str, tokens: Sequence[int], lease: float) -> Sequence[int]:
        self._check()
        held = {row.token: row for row in self.rows if row.queue == queue and row.token in tokens}
        for row in held.values():
            row.taken_until = self.now() + lease
        return [token for token in tokens if token not in held]

    async def filled(self, queues: Sequence[str]) -> set[str]:
        self._check()
        self.looks += 1
        return {row.queue for row in self.rows if row.queue in queues and row.taken_until <= self.now()}

    async def nonempty(self, prefix: str, limit: int) -> list[str]:
        self._check()
        return sorted({row.queue for row in self.rows if row.queue.startswith(prefix)})[:limit]

    async def answer(
        self, queue: str, bodies: Sequence[tuple[bytes, float | None]], asked: str, tokens: Sequence[int]
    ) -> None:
        await self.put(queue, bodies)
        await self.settle(asked, tokens)

    async def withdraw(self, queue: str, beginning: bytes, part: bytes) -> list[Row]:
        self._check()
        found = [r for r in self.rows if r.queue == queue and r.body.startswith(beginning) and part in r.body]
        if sum(row.tries > 0 for row in found) > 1:
            return []
        self.rows = [row for row in self.rows if row not in found]
        return found

    async def read(self, queue: str, after: int, limit: int, reader: str = "") -> list[Row]:
        self._check()
        now = self.now()
        live = [row for row in self.rows if row.expires_at is None or row.expires_at > now]
        return [row for row in live if row.queue == queue and row.token > after and not row.taken_until][:limit]

    async def bury(
        self, queue: str, letters: Sequence[tuple[int, str]], told: Sequence[tuple[str, bytes]] = ()
    ) -> None:
        self._check()
        reasons = dict(letters)
        self.buried += [(row.body, reasons[row.token]) for row in self.rows if row.token in reasons]
        await self.settle(queue, list(reasons))

    async def adopt(self, queue: str, heir: str) -> int:
        self._check()
        left = [row for row in self.rows if row.queue == queue]
        for row in left:
            row.queue, row.taken_until = heir, 0.0
        return len(left)

    def _check(self) -> None:
        if self.is_down:
            raise StoreUnavailable("store: expected it to answer, found it down; start it")
