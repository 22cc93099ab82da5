"""S38 on every commit: an update is answered once, in the commit that records the answer or takes it from the inbox."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from simulation.invariants.history import Change
from simulation.invariants.watched_rows import UpdateEntry
from stepward.model.tasks.updates import PREFIX, read_message
from stepward.store.contract import UpdateState


class UpdateAnswers:
    """Compares answers with what else their transaction writes."""

    def __init__(self, broken: Callable[[str, str], None]) -> None:
        self._broken = broken

    def committed(self, entries: list[Change]) -> None:
        """Check a transaction."""
        answered = [entry for entry in entries if entry.table == "update_request" and entry.after is not None]
        if not answered:
            return
        accepted = Counter[str]()
        for _, before, after in answered:
            if before is not None and before.state != UpdateState.ASKED and before != after:
                self._broken("S38", f"update {after.id} of {after.task} was answered again: {after.state}")
            accepted[after.task] += after.state == UpdateState.ACCEPTED
        recorded = Counter(entry.after.task for entry in entries if _is_answer(entry))
        for task, count in (accepted - recorded).items():
            self._broken("S38", f"{task} has {count} accepted updates of which its record does not tell")


def is_rejected(task: str, name: str, body: bytes, entries: Iterable[Change]) -> bool:
    """Whether that row of an inbox is an update that the same transaction rejects."""
    if not name.startswith(PREFIX):
        return False
    id = read_message(body, name).id
    rejected: list[UpdateEntry] = [
        entry.after for entry in entries if entry.table == "update_request" and entry.after is not None
    ]
    return any((each.task, each.id, each.state) == (task, id, UpdateState.REJECTED) for each in rejected)


def _is_answer(entry: Change) -> bool:
    _, before, after = entry
    return entry.table == "step" and before is None and after is not None and after.name.startswith("answer:")
