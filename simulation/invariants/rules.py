"""What every committed change must obey, from any actor and under any fault: checked in the commit itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from simulation.application.pipelines import PipelinePlans
from simulation.invariants.conservation import Conservation
from simulation.invariants.fairness import Fairness
from simulation.invariants.history import Act, Change, Mirror
from simulation.invariants.outcomes import REPAIR, Outcomes
from simulation.invariants.signals import SignalConservation
from simulation.invariants.standings import Standings
from simulation.invariants.status_events import Tellings
from simulation.invariants.undo_order import UndoOrder
from simulation.invariants.updates import UpdateAnswers
from simulation.invariants.values.live_values import LiveValues
from simulation.invariants.watched_rows import AuditRow, InboxEntry, MessageRow, StepRow, TaskRow
from simulation.trace import Trace
from stepward.model.effects import POSSIBLY
from stepward.model.states import STEP_MOVES, TASK_MOVES, StepState, TaskState

OWNERS = frozenset({"commit", "transaction"})
FREEING = frozenset({"free", "retire"})
DECISIONS = frozenset({"repeat", "fail", "undo", "raise"})
BINDING = frozenset({"undo", "cancel", "suspend", "fail"})


class Rules:
    """Follows the history commit by commit, and tells the trace what is broken."""

    def __init__(self, mirror: Mirror, trace: Trace, now: Callable[[], float]) -> None:
        self._mirror = mirror
        self._trace = trace
        self._now = now
        self._decided: set[tuple[Any, ...]] = set()
        self.marked: set[str] = set()
        """The idempotency keys of steps that never were done: an operator gave their results."""
        self._outcomes = Outcomes(mirror, self._broken)
        self.replies = self._outcomes.replies
        """Outcomes that Agents have published, by attempt."""
        self._undo_order = UndoOrder(mirror, self._broken)
        self.tellings = Tellings(mirror, self._broken)
        self._messages = Conservation(mirror, self._broken)
        self._plans = PipelinePlans(mirror, self._broken)
        self._fairness = Fairness(mirror, self._broken)
        self._signals = SignalConservation(mirror, self._broken)
        self._updates = UpdateAnswers(self._broken)
        self._standings = Standings(mirror, self._broken, now, trace)
        self.live_values = LiveValues(mirror, self._broken, trace.reached)

    def committed(self, entries: list[Change], verb: Act) -> None:
        """Check a transaction, change by change."""
        self._undo_order.begin()
        self._check_author(entries, verb)
        for entry in entries:
            CHECKS[entry.table](self, entry.before, entry.after, verb)
            self._mirror.apply(entry)
        self._check_ends(entries)
        if verb.name == REPAIR:
            self._check_repair(entries)
            self.marked |= _marked(entries)
        self._undo_order.committed()
        self.tellings.committed(entries)
        self._messages.committed(entries)
        self._plans.committed(entries)
        self._fairness.committed(entries, verb)
        self._standings.committed(entries)
        self._signals.committed(entries)
        self._updates.committed(entries)
        self.live_values.committed(entries, verb.name)

    # ------------------------------------------------------------ S3, S4: who may write

    def _check_author(self, entries: list[Change], verb: Act) -> None:
        if verb.name in ("commit", "claim", "transaction") and verb.instance is not None:
            instance = self._mirror.instances.get(verb.instance)
            if instance is None or not instance.alive:
                touched = ", ".join(sorted({entry.table for entry in entries}))
                self._broken("S3", f"{verb.instance} was declared dead and changed {touched} ({verb.name})")

    def _check_owner(self, uid: str, what: str, verb: Act) -> None:
        task = self._mirror.tasks.get(uid)
        owner = task.locked_by if task else None
        if owner is not None and verb.name in OWNERS and verb.instance is not None and verb.instance != owner:
            self._broken("S3", f"{what} of {uid}, held by {owner}, was changed by {verb.instance}")

    # ------------------------------------------------------------ tasks

    def _task(self, before: TaskRow | None, after: TaskRow | None, verb: Act) -> None:
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

    def _check_mover(self, before: TaskRow, after: TaskRow, verb: Act) -> None:
        self._check_owner(after.uid, "the row", verb)
        held = before.locked_by is not None and verb.name not in OWNERS | FREEING
        if held and after.locked_by is not None:
            self._broken("S3", f"task {after.id}, held by {before.locked_by}, was moved by {verb.name}")

    def _check_handover(self, before: TaskRow, after: TaskRow, verb: Act) -> None:
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

    def _step(self, before: StepRow | None, after: StepRow | None, verb: Act) -> None:
        if after is None:
            if before is not None:
                self._undo_order.removed(before)
            return
        self._check_owner(after.task, f"step {after.key}", verb)
        self._undo_order.note_told(after)
        if before is None:
            self._new_step(after, verb)
        elif after.state != before.state or after.attempt != before.attempt:
            self._moved_step(before, after, verb)
        if before is not None:
            self._outcomes.check(before, after, verb)

    def _new_step(self, after: StepRow, verb: Act) -> None:
        self._trace.note("step", after.task, after.run, after.key, f"new {after.state} {after.attempt}")
        if after.attempt not in (0, 1) and verb.name != REPAIR and not self._goes_on(after):
            self._broken("S7", f"step {after.task}/{after.key} is new with attempt {after.attempt}")
        if after.state == "running":
            self._started(after)

    def _goes_on(self, after: StepRow) -> bool:
        """Whether the step was asked for before, and the attempts of that are set aside; it may wait for its next."""
        aside = [step for step in self._mirror.steps_of(after.task) if step.set_aside_at is not None]
        former = after.attempt - (after.state != "to_repeat")
        return any((s.run, s.asked_as, s.attempt) == (after.run, after.key, former) for s in aside)

    def _moved_step(self, before: StepRow, after: StepRow, verb: Act) -> None:
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

    def _check_finisher(self, after: StepRow, verb: Act) -> None:
        task = self._mirror.tasks.get(after.task)
        if verb.name == "complete" and after.kind != "undo" and task is not None and task.undo_to is not None:
            self._broken("S14", f"step {task.id}/{after.key} was finished from outside after undo had begun")

    def _started(self, after: StepRow) -> None:
        task = self._mirror.tasks.get(after.task)
        self._undo_order.started(after)
        if after.kind != "undo" and task is not None and task.undo_to is not None:
            self._broken("S14", f"step {task.id}/{after.key} went forward after undo had begun")

    def _check_repair(self, entries: list[Change]) -> None:
        """S33: whatever a repair puts in the place of a row, an attempt that may have acted, and its doubt, stay."""
        rows = [entry for entry in entries if entry.table == "step"]
        kept = {entry.after.acts_under: entry.after for entry in rows if entry.after is not None}
        for before in [entry.before for entry in rows if entry.after is None and _may_have_acted(entry.before)]:
            after = kept.get(before.acts_under)
            if after is None or after.attempt != before.attempt or _is_sure_now(before, after):
                self._broken("S33", f"a repair erased attempt {before.attempt} of {before.task}/{before.key}")

    def _check_ends(self, entries: list[Change]) -> None:
        for table, before, after in entries:
            if after is None:
                continue
            if table == "step" and after.ordinal is not None and (before is None or before.ordinal != after.ordinal):
                self._check_ordinal(after)
            if table == "task" and after.state == "error" and before is not None and before.state != "error":
                self._check_alert(after, entries)

    def _check_ordinal(self, after: StepRow) -> None:
        for step in self._mirror.steps_of(after.task) if after.set_aside_at is None else ():
            if step.set_aside_at is not None:
                continue
            if step.run == after.run and step.ordinal == after.ordinal and step.key != after.key:
                self._broken("S5", f"{after.task}: {step.key} and {after.key} share ordinal {after.ordinal}")

    def _check_alert(self, after: TaskRow, entries: list[Change]) -> None:
        if not any(e.table == "alert" and e.after is not None and e.after.task == after.uid for e in entries):
            self._broken("S20", f"task {after.id} went into error and no alert was made with it")

    # ------------------------------------------------------------ the rest

    def _audit(self, before: AuditRow | None, after: AuditRow | None, verb: Act) -> None:
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

    def _inbox(self, before: InboxEntry | None, after: InboxEntry | None, verb: Act) -> None:
        row = after or before
        if row is not None:
            self._trace.note("inbox", row.task, row.kind, row.name, "put" if before is None else "taken")

    def _message(self, before: MessageRow | None, after: MessageRow | None, verb: Act) -> None:
        row = after or before
        if row is not None:
            what = "put" if before is None else "gone" if after is None else f"taken {row.tries}"
            self._trace.note("message", row.queue, row.token, what, row.body if before is None else "")

    def _plain(self, before: Any, after: Any, verb: Act) -> None:
        """No further rule applies to these."""
        row = after or before
        self._trace.note(type(row).__name__, *row[1:4])

    def _broken(self, invariant: str, message: str) -> None:
        self._trace.violated(invariant, message)


def _marked(entries: list[Change]) -> set[str]:
    """What a repair has completed; what it only moves was completed before."""
    rows = [entry for entry in entries if entry.table == "step"]
    return _completed([entry.after for entry in rows]) - _completed([entry.before for entry in rows])


def _completed(steps: list[StepRow | None]) -> set[str]:
    return {step.acts_under for step in steps if step is not None and step.state == "completed"}


def _is_sure_now(before: StepRow, after: StepRow) -> bool:
    """Whether a doubt is gone without an operator's word that the step did happen."""
    return after.in_doubt < before.in_doubt and after.state != "completed"


def _may_have_acted(step: StepRow) -> bool:
    is_possible = step.state in POSSIBLY or step.state == "completed" or step.in_doubt
    return step.kind == "operation" and step.attempt > 0 and bool(is_possible)


CHECKS: dict[str, Callable[[Rules, Any, Any, Act], None]] = {
    "task": Rules._task,
    "step": Rules._step,
    "inbox": Rules._inbox,
    "audit": Rules._audit,
    "instance": Rules._plain,
    "alert": Rules._plain,
    "message": Rules._message,
    "dead_letter": Rules._plain,
    "agent": Rules._plain,
    "update_request": Rules._plain,
    "order": Rules._plain,
    "live_value": Rules._plain,
    "stream_value": Rules._plain,
}
