"""What every committed change must obey, whoever made it and whatever went wrong: checked in the commit itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from stepward.model.states import STEP_MOVES, TASK_MOVES, StepState, TaskState
from stepward.testing.conservation import Conservation
from stepward.testing.fairness import Fairness
from stepward.testing.history import AuditRow, Entry, InboxEntry, MessageRow, Mirror, StepRow, TaskRow, Verb
from stepward.testing.pipelines import Plans
from stepward.testing.standings import Standings
from stepward.testing.telling import Tellings
from stepward.testing.trace import Trace

OWNERS = frozenset({"commit", "transaction"})
FREEING = frozenset({"free", "retire"})
DECISIONS = frozenset({"repeat", "fail", "undo", "raise"})
BINDING = frozenset({"undo", "cancel", "suspend", "fail"})
ANSWERED = frozenset({"operation", "undo"})
BY_HAND = frozenset({"direct", "complete"})
"""Verbs of people, who finish steps without an Agent."""


class Rules:
    """Follows the history commit by commit, and tells the trace what is broken."""

    def __init__(self, mirror: Mirror, trace: Trace, now: Callable[[], float]) -> None:
        self._mirror = mirror
        self._trace = trace
        self._now = now
        self._decided: set[tuple[Any, ...]] = set()
        self.replies: dict[tuple[str, int, str, int], set[str]] = {}
        """Outcomes that Agents have published, by attempt."""
        self.dispatched: dict[tuple[str, int, str], int] = {}
        self.completed: dict[tuple[str, int, str], int] = {}
        """In which commit a step first ran, and completed."""
        self.commits = 0
        self._undos_begun: list[StepRow] = []
        self.tellings = Tellings(mirror, self._broken)
        self._messages = Conservation(mirror, self._broken)
        self._plans = Plans(mirror, self._broken)
        self._fairness = Fairness(mirror, self._broken)
        self._standings = Standings(mirror, self._broken, now, trace)

    def committed(self, entries: list[Entry], verb: Verb) -> None:
        """Check a transaction, change by change."""
        self.commits += 1
        self._check_author(entries, verb)
        for entry in entries:
            CHECKS[entry.table](self, entry.before, entry.after, verb)
            self._mirror.apply(entry)
        self._check_ends(entries)
        while self._undos_begun:
            self._check_order(self._undos_begun.pop())
        self.tellings.committed(entries)
        self._messages.committed(entries)
        self._plans.committed(entries)
        self._fairness.committed(entries, verb)
        self._standings.committed(entries)

    # ------------------------------------------------------------ S3, S4: who may write

    def _check_author(self, entries: list[Entry], verb: Verb) -> None:
        if verb.name in ("commit", "claim", "transaction") and verb.instance is not None:
            instance = self._mirror.instances.get(verb.instance)
            if instance is None or not instance.alive:
                touched = ", ".join(sorted({entry.table for entry in entries}))
                self._broken("S3", f"{verb.instance} was declared dead and changed {touched} ({verb.name})")

    def _check_owner(self, uid: str, what: str, verb: Verb) -> None:
        task = self._mirror.tasks.get(uid)
        owner = task.locked_by if task else None
        if owner is not None and verb.name in OWNERS and verb.instance is not None and verb.instance != owner:
            self._broken("S3", f"{what} of {uid}, held by {owner}, was changed by {verb.instance}")

    # ------------------------------------------------------------ tasks

    def _task(self, before: TaskRow | None, after: TaskRow | None, verb: Verb) -> None:
        if before is None or after is None:
            return
        if after.state != before.state:
            self._trace.note("task", after.id, f"{before.state} -> {after.state}", verb.name)
            if TaskState(after.state) not in TASK_MOVES[TaskState(before.state)]:
                self._broken("S2", f"task {after.id} went from {before.state} to {after.state} by {verb.name}")
            self._check_mover(before, after, verb)
            self._check_inbox(after)
        if after.locked_by != before.locked_by:
            self._trace.note("owner", after.id, before.locked_by, after.locked_by, verb.name)
            self._check_handover(before, after, verb)
        if before.undo_to is not None and after.undo_to is None:
            self._broken("S14", f"task {after.id} forgot that its undo had begun ({verb.name})")

    def _check_mover(self, before: TaskRow, after: TaskRow, verb: Verb) -> None:
        self._check_owner(after.uid, "the row", verb)
        held = before.locked_by is not None and verb.name not in OWNERS | FREEING
        if held and after.locked_by is not None:
            self._broken("S3", f"task {after.id}, held by {before.locked_by}, was moved by {verb.name}")

    def _check_handover(self, before: TaskRow, after: TaskRow, verb: Verb) -> None:
        if before.locked_by is not None and after.locked_by is not None:
            self._broken("S4", f"task {after.id} went from owner {before.locked_by} to {after.locked_by}")
        if before.locked_by is not None and verb.name not in OWNERS:
            instance = self._mirror.instances.get(before.locked_by)
            if instance is not None and instance.alive:
                self._broken("S4", f"task {after.id} was taken from {before.locked_by}, which lives ({verb.name})")

    def _check_inbox(self, after: TaskRow) -> None:
        if after.state in ("processed", "waiting") and after.locked_by is None:
            wanted = [row.kind for row in self._mirror.inbox.values() if row.task == after.uid and row.kind in BINDING]
            if wanted:
                self._broken("S17", f"task {after.id} became {after.state} over {', '.join(wanted)} in its inbox")

    # ------------------------------------------------------------ steps

    def _step(self, before: StepRow | None, after: StepRow | None, verb: Verb) -> None:
        if after is None:
            return
        self._check_owner(after.task, f"step {after.key}", verb)
        if before is None:
            self._new_step(after)
        elif after.state != before.state or after.attempt != before.attempt:
            self._moved_step(before, after, verb)
        if before is not None:
            self._check_outcome(before, after, verb)

    def _new_step(self, after: StepRow) -> None:
        self._trace.note("step", after.task, after.run, after.key, f"new {after.state} {after.attempt}")
        if after.attempt not in (0, 1):
            self._broken("S7", f"step {after.task}/{after.key} is new with attempt {after.attempt}")
        if after.state == "running":
            self._started(after)
        if after.state == "completed":
            self.completed[after[:3]] = self.commits

    def _moved_step(self, before: StepRow, after: StepRow, verb: Verb) -> None:
        name = f"{after.task}/{after.run}/{after.key}"
        change = f"{before.state} {before.attempt} -> {after.state} {after.attempt}"
        self._trace.note("step", after.task, after.run, after.key, change, verb.name)
        if after.state != before.state and StepState(after.state) not in STEP_MOVES[StepState(before.state)]:
            self._broken("S2", f"step {name} went {change} by {verb.name}")
        self._check_finisher(after, verb)
        starts = after.state == "running" and before.state != "running"
        if after.attempt != before.attempt + starts:
            self._broken("S7", f"step {name} went {change}: attempts are 1..n without gaps")
        if starts:
            self._started(after)
        if verb.name == "decide" and before.complete_by is not None and before.complete_by > self._now():
            self._broken("S16", f"step {name} was judged {before.complete_by - self._now():.3f} s too early")

    def _check_finisher(self, after: StepRow, verb: Verb) -> None:
        task = self._mirror.tasks.get(after.task)
        if verb.name == "complete" and after.kind != "undo" and task is not None and task.undo_to is not None:
            self._broken("S14", f"step {task.id}/{after.key} was finished from outside after undo had begun")

    def _started(self, after: StepRow) -> None:
        task = self._mirror.tasks.get(after.task)
        self.dispatched.setdefault(after[:3], self.commits)
        if after.kind == "undo":
            self._undos_begun.append(after)
        elif task is not None and task.undo_to is not None:
            self._broken("S14", f"step {task.id}/{after.key} went forward after undo had begun")

    def _check_order(self, undo: StepRow) -> None:
        """S13: what began after this step had completed is undone before it."""
        original = (undo.task, undo.run, undo.key.removesuffix("~undo"))
        since = self.completed.get(original)
        for step in self._mirror.steps_of(undo.task) if since is not None and undo.attempt == 1 else ():
            later = step.run > undo.run or self.dispatched.get(step[:3], 0) >= (since or 0)
            counts = step.has_undo and step.kind == "operation" and step[:3] != original
            if counts and later and step.state == "completed" and self.dispatched.get(step[:3]):
                self._broken("S13", f"{undo.task}: {undo.key} began before {step.key}, which came later, was undone")

    def _check_outcome(self, before: StepRow, after: StepRow, verb: Verb) -> None:
        name = f"{after.task}/{after.run}/{after.key}"
        if before.state == "completed" and (before.output, before.run) != (after.output, after.run):
            self._broken("S5", f"step {name} had a result and got another ({verb.name})")
        if before.state == "completed" and before.ordinal is not None and after.ordinal != before.ordinal:
            self._broken("S5", f"step {name} was delivered as {before.ordinal} and again as {after.ordinal}")
        if after.state == "completed" and before.state != "completed":
            self.completed[after[:3]] = self.commits
            if after.kind in ANSWERED and verb.name not in BY_HAND:
                self._check_answered(after, name)

    def _check_answered(self, after: StepRow, name: str) -> None:
        child = self._mirror.tasks.get(f"{after.task}/{after.run}/{after.key.removesuffix('~undo')}")
        answered = "completed" in self.replies.get((after.task, after.run, after.key, after.attempt), ())
        if not answered and child is None:
            self._broken("S6", f"step {name} completed at attempt {after.attempt}, which nobody answered")

    def _check_ends(self, entries: list[Entry]) -> None:
        for table, before, after in entries:
            if after is None:
                continue
            if table == "step" and after.ordinal is not None and (before is None or before.ordinal != after.ordinal):
                self._check_ordinal(after)
            if table == "task" and after.state == "error" and before is not None and before.state != "error":
                self._check_alert(after, entries)

    def _check_ordinal(self, after: StepRow) -> None:
        for step in self._mirror.steps_of(after.task):
            if step.run == after.run and step.ordinal == after.ordinal and step.key != after.key:
                self._broken("S5", f"{after.task}: {step.key} and {after.key} share ordinal {after.ordinal}")

    def _check_alert(self, after: TaskRow, entries: list[Entry]) -> None:
        if not any(e.table == "alert" and e.after is not None and e.after.task == after.uid for e in entries):
            self._broken("S20", f"task {after.id} went into error and no alert was made with it")

    # ------------------------------------------------------------ the rest

    def _audit(self, before: AuditRow | None, after: AuditRow | None, verb: Verb) -> None:
        if after is None or before is not None:
            self._broken("S21", "an audited act was changed or deleted")
            return
        self._trace.note("audit", after.act, after.task, after.step)
        if after.step is not None and after.act in DECISIONS and verb.name == "decide":
            details = json.loads(after.details)
            decision = (after.task, details["run"], after.step, details["attempt"])
            if decision in self._decided:
                self._broken("S15", f"a second decision on {decision}")
            self._decided.add(decision)

    def _inbox(self, before: InboxEntry | None, after: InboxEntry | None, verb: Verb) -> None:
        row = after or before
        if row is not None:
            self._trace.note("inbox", row.task, row.kind, row.name, "put" if before is None else "taken")

    def _message(self, before: MessageRow | None, after: MessageRow | None, verb: Verb) -> None:
        row = after or before
        if row is not None:
            what = "put" if before is None else "gone" if after is None else f"taken {row.tries}"
            self._trace.note("message", row.queue, row.token, what, row.body if before is None else "")

    def _plain(self, before: Any, after: Any, verb: Verb) -> None:
        """Nothing more is asked of these."""
        row = after or before
        self._trace.note(type(row).__name__, *row[1:4])

    def _broken(self, invariant: str, message: str) -> None:
        self._trace.violated(invariant, message)


CHECKS: dict[str, Callable[[Rules, Any, Any, Verb], None]] = {
    "task": Rules._task,
    "step": Rules._step,
    "inbox": Rules._inbox,
    "audit": Rules._audit,
    "instance": Rules._plain,
    "alert": Rules._plain,
    "message": Rules._message,
    "dead_letter": Rules._plain,
    "agent": Rules._plain,
    "order": Rules._plain,
}
