"""S39 on every commit: what tasks publish and stream is written once, in order, with the outcome that it belongs to.

Operations write two values to a stream and publish one with each call; workflow code streams one after each operation.
What comes from failed calls, repeated attempts, late replies and replays must not be there.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from simulation.application.live_values import CODE, EACH, STEPS, WRITERS
from simulation.invariants.history import Change, Mirror
from simulation.invariants.outcomes import REPAIR
from simulation.invariants.watched_rows import StepRow, StreamValueRow
from simulation.planted_bugs.planting import bug, put
from stepward.model.live_values import WriteBuffer
from stepward.model.states import StepKind, StepState
from stepward.store.contract import ClientStore


class LiveValues:
    """Compares the values that a transaction writes with the outcomes that it records."""

    def __init__(self, mirror: Mirror, broken: Callable[[str, str], None], reached: Callable[[str], None]) -> None:
        self._mirror = mirror
        self._broken = broken
        self._reached = reached
        self._lengths: Counter[tuple[str, str]] = Counter()
        self._written: set[str] = set()
        """The keys under which steps have written."""
        self.is_on = False

    def committed(self, entries: list[Change], verb: str) -> None:
        """Check a transaction; the mirror has followed it already."""
        if not self.is_on:
            return
        appended = defaultdict[str, list[Any]](list)
        for _, before, after in (entry for entry in entries if entry.table == "stream_value"):
            self._append(before, after, appended)
        done = {after.acts_under: after for after in map(_completed, entries) if after is not None}
        self._check_steps(appended[STEPS], done, is_repair=verb == REPAIR)
        self._check_published(entries, done)
        coded = sum(_is_code(entry) for entry in entries)
        if coded != len(appended[CODE]):
            self._broken("S39", f"workflow code recorded {coded} values, the stream has {len(appended[CODE])} more")

    def _append(self, before: StreamValueRow | None, after: StreamValueRow | None, appended: Any) -> None:
        if before is not None or after is None:
            row = before or after
            self._broken("S39", f"a value of the stream {row and row.name} of {row and row.task} was changed")
            return
        place = after.task, after.name
        if after.position != self._lengths[place]:
            self._broken(
                "S39", f"stream {after.name} of {after.task}: {after.position} after {self._lengths[place]} values"
            )
        self._lengths[place] += 1
        appended[after.name].append(json.loads(after.value))

    def _check_steps(self, found: list[Any], done: dict[str, StepRow], *, is_repair: bool) -> None:
        keys = list(dict.fromkeys(key for key, _ in found))
        if found != [[key, number] for key in keys for number in range(EACH)]:
            self._broken("S39", f"steps wrote {found[:4]}, each was to write {EACH} in order")
        for key in keys:
            if key not in done:
                self._broken("S39", f"{key} wrote values without its outcome")
            if key in self._written:
                self._broken("S39", f"{key} wrote values twice")
        self._written.update(keys)
        for key, step in done.items():
            if step.name in WRITERS and key not in keys and not is_repair:
                self._broken("S39", f"the outcome of {key} came without its values")

    def _check_published(self, entries: list[Change], done: dict[str, StepRow]) -> None:
        for entry in entries:
            if entry.table == "live_value" and entry.after is not None:
                key = json.loads(entry.after.value)
                if key not in done:
                    self._broken("S39", f"{key} published without its outcome")

    async def check_read(self, store: ClientStore) -> None:
        """Checks at rest that streams are read as they were written, from any position on."""
        for (task, name), count in self._lengths.items():
            self._reached("a task streamed values")
            row = self._mirror.tasks[task]
            found = await store.stream_values(task, name, count // 2)
            kept = [
                value for (of, stream, _), value in self._mirror.stream_values.items() if (of, stream) == (task, name)
            ]
            if [value.value for value in found] != [value.value for value in kept[count // 2 :]][: len(found)]:
                self._broken("S39", f"task {row.id}: the stream {name} is read otherwise than it was written")


def _completed(entry: Change) -> StepRow | None:
    """The step whose outcome the change records."""
    _, before, after = entry
    if entry.table != "step" or after is None or after.kind != StepKind.OPERATION:
        return None
    is_new = before is None or before.output is None or before.generation != after.generation
    return after if is_new and after.output is not None and after.state != StepState.FAILED else None


def _is_code(entry: Change) -> bool:
    is_new = entry.table == "step" and entry.before is None and entry.after is not None
    return is_new and entry.after.name == f"stream:{CODE}" and entry.after.set_aside_at is None


@bug
def values_written_twice(stack: ExitStack) -> None:
    """What an operation writes is kept once more."""
    original = WriteBuffer.write

    def write(self: WriteBuffer, *given: Any) -> None:
        original(self, *given)
        original(self, *given)

    put(stack, WriteBuffer, "write", write)
