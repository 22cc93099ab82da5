"""What a Scheduler did in its turns, as tests see it: the changes of each commit, and passes of the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from stepward.running import Running
from stepward.store.contract import Change, Committed


class Commits:
    """The changes of each commit of a Scheduler."""

    def __init__(self, running: Running) -> None:
        self.changes: list[Sequence[Change]] = []
        self._commit = running.store.scheduler.commit
        running.store.scheduler.commit = self.commit  # type: ignore[method-assign]

    async def commit(self, instance: str, changes: Sequence[Change], renew: float | None) -> Committed:
        if changes:
            self.changes.append(changes)
        return await self._commit(instance, changes, renew)

    @property
    def sizes(self) -> list[int]:
        return [len(changes) for changes in self.changes]

    @property
    def most_written(self) -> int:
        """Bytes of inputs and results that one commit held at most."""
        return max(sum(map(_written, changes)) for changes in self.changes)

    @property
    def most_bytes(self) -> int:
        """Bytes of the results that one commit held at most."""
        return max(
            sum(len(finish.output or b"") for change in changes for finish in change.finishes)
            for changes in self.changes
        )


class Passes:
    """In which passes of the event loop functions were called."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        loop: Any = asyncio.get_running_loop()
        self._monkeypatch = monkeypatch
        self._run_once = loop._run_once
        self._now = 0
        self.of: dict[str, list[int]] = {}
        monkeypatch.setattr(loop, "_run_once", self._passed)

    def note(self, owner: Any, name: str) -> None:
        """Note from now on when a function of ``owner`` is called."""
        original, seen = getattr(owner, name), self.of.setdefault(name, [])

        def noted(*args: Any, **kwargs: Any) -> Any:
            seen.append(self._now)
            return original(*args, **kwargs)

        self._monkeypatch.setattr(owner, name, noted)

    def _passed(self) -> None:
        self._now += 1
        self._run_once()


def _written(change: Change) -> int:
    born = 0 if change.born is None else len(change.born.input)
    end = 0 if change.move is None else len(change.move.output or b"")
    steps = sum(len(step.input) + len(step.output or b"") for step in change.inserts)
    return born + end + steps + sum(len(finish.output or b"") for finish in change.finishes)
