"""Reads whole tasks from the store in bounded pieces, in the order in which the archive writes them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, Generic, TypeVar

from stepward.model.records import InboxRow, Step
from stepward.store.contract import RetentionStore, SignalSeen, StreamRow, UpdateRow, WrittenRow
from stepward.supervisor.archives.line_writer import Item, weight

PIECE_ROWS = 1_000
PIECE_BYTES = 4 * 1024 * 1024

P = TypeVar("P")
R = TypeVar("R", Step, InboxRow, SignalSeen, WrittenRow, StreamRow, UpdateRow)


async def pieces(store: RetentionStore, uids: Sequence[str]) -> AsyncIterator[list[Item]]:
    """The records of these tasks: each task, then its steps and other records."""
    piece, left = list[Item](), PIECE_BYTES
    async for item in _items(store, uids):
        piece.append(item)
        left -= weight(item)
        if left < 0 or len(piece) == PIECE_ROWS:
            yield piece
            piece, left = [], PIECE_BYTES
    yield piece


async def _items(store: RetentionStore, uids: Sequence[str]) -> AsyncIterator[Item]:
    parts: list[_Part[Any, Any]] = [
        _Part(store.outlived_steps, uids, ("", 0, 0), lambda step: (step.task, step.run, step.number)),
        _Part(store.outlived_inbox, uids, ("", 0), lambda row: (row.task, row.number)),
        _Part(store.outlived_signals, uids, ("", "", ""), lambda seen: (seen.task, seen.name, seen.id)),
        _Part(store.outlived_values, uids, ("", ""), lambda row: (row.task, row.name)),
        _Part(store.outlived_streams, uids, ("", "", -1), lambda row: (row.task, row.name, row.position)),
        _Part(store.outlived_updates, uids, ("", ""), lambda row: (row.task, row.id)),
    ]
    after = ""
    while tasks := await store.outlived_tasks(uids, after):
        for task in tasks:
            yield task
            for part in parts:
                async for item in part.of(task.uid):
                    yield item
        after = tasks[-1].uid


class _Part(Generic[P, R]):
    """The records of one kind, page after page."""

    def __init__(
        self,
        read: Callable[[Sequence[str], P], Awaitable[list[R]]],
        uids: Sequence[str],
        start: P,
        place: Callable[[R], P],
    ) -> None:
        self._read: Callable[[Sequence[str], P], Awaitable[list[R]]] = read
        self._uids = uids
        self._after = start
        self._place: Callable[[R], P] = place
        self._page: list[R] = []
        self._next = 0
        self._is_over = False

    async def of(self, uid: str) -> AsyncIterator[R]:
        """The records of that task; tasks are asked for in order. Records of other tasks are skipped."""
        while (row := await self._row()) is not None and row.task <= uid:
            self._next += 1
            if row.task == uid:
                yield row

    async def _row(self) -> R | None:
        if self._next == len(self._page) and not self._is_over:
            self._page, self._next = await self._read(self._uids, self._after), 0
            if self._page:
                self._after = self._place(self._page[-1])
            self._is_over = not self._page
        return self._page[self._next] if self._next < len(self._page) else None
