"""Outcomes of steps on every commit: recorded once, readable, and answered by an Agent unless people gave them."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from simulation.invariants.history import Act, Mirror
from simulation.invariants.watched_rows import StepRow

WITH_AMOUNT = frozenset({"pay.charge", "pay.note", "ship.send", "mail.post", "desk.ask"})
"""Operations whose results are objects."""
ANSWERED = frozenset({"operation", "undo"})
REPAIR = "direct"
BY_HAND = frozenset({REPAIR, "complete"})
"""Verbs of people, who finish steps without an Agent."""


class Outcomes:
    """S5, S6 and S35."""

    def __init__(self, mirror: Mirror, broken: Callable[[str, str], None]) -> None:
        self._mirror = mirror
        self._broken = broken
        self.replies: dict[tuple[str, int, str, int], set[str]] = {}
        """Outcomes that Agents have published, by attempt."""

    def check(self, before: StepRow, after: StepRow, verb: Act) -> None:
        """A step has changed: its outcome must not, once it is recorded."""
        name = f"{after.task}/{after.run}/{after.key}"
        if before.state == "completed" and (before.output, before.run) != (after.output, after.run):
            self._broken("S5", f"step {name} had a result and got another ({verb.name})")
        if before.state == "completed" and before.ordinal is not None and after.ordinal != before.ordinal:
            self._broken("S5", f"step {name} was delivered as {before.ordinal} and again as {after.ordinal}")
        if (before.output, before.error) != (after.output, after.error):
            self._check_readable(after, name, verb)
        is_new = after.state == "completed" and before.state != "completed"
        if is_new and after.kind in ANSWERED and verb.name not in BY_HAND:
            self._check_answered(after, name)

    def _check_readable(self, after: StepRow, name: str, verb: Act) -> None:
        """S35: what is recorded can be read, and a result is what its operation declares."""
        for what, data in (("result", after.output), ("error", after.error)):
            try:
                value = msgspec.json.decode(data) if data is not None else None
            except (msgspec.DecodeError, RecursionError):
                self._broken("S35", f"the {what} of step {name} was recorded as {data!r}"[:200] + ", which is no JSON")
                return
            is_typed = what == "result" and after.name in WITH_AMOUNT and after.kind == "operation"
            if is_typed and verb.name != REPAIR and not isinstance(value, dict | None):
                self._broken("S35", f"step {name} was recorded with the result {data!r}, and no object")

    def _check_answered(self, after: StepRow, name: str) -> None:
        child = self._mirror.tasks.get(f"{after.task}/{after.run}/{after.key.removesuffix('~undo')}")
        answered = "completed" in self.replies.get((after.task, after.run, after.key, after.attempt), ())
        if not answered and child is None:
            self._broken("S6", f"step {name} completed at attempt {after.attempt}, which nobody answered")
