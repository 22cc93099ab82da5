"""S28 on every commit: the events of a task are exactly the changes that the same commit makes to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from simulation.invariants.history import Change, Mirror
from simulation.invariants.watched_rows import InboxEntry, LetterRow, MessageRow, StepRow, TaskRow
from stepward.errors import InvalidPayload
from stepward.model.messages.cloudevents import decode_event
from stepward.model.messages.status_events import OF_STATE, StatusEventType
from stepward.model.states import TaskState
from stepward.model.tasks import stopped_tasks

REPLIES = "replies.simulated."
"""How the names of private response queues start; those of Schedulers' queues name an instance instead."""
SUBMISSIONS = "submissions."
REOPENED = frozenset({"suspended", "error"})
"""States that only an operator leaves for ``pending``; the others come there when their owner dies or they wake."""
AWAITED = frozenset({"operation", "local", "transaction", "child"})
"""Kinds of steps whose outcomes are reported, once the workflow receives them."""


class EventLine(Struct):
    """An event as it stands in a queue, as far as it is looked at."""

    id: str
    type: str
    subject: str
    sequence: str
    data: dict[str, msgspec.Raw]

    @property
    def uid(self) -> str:
        """Of the task that tells it."""
        return self.id.rpartition("/")[0]

    @property
    def word(self) -> str:
        """What it tells, and of which step."""
        step = self.data.get("step")
        return self.type if step is None else f"{self.type} {msgspec.json.decode(step)}"


class TaskChange(NamedTuple):
    """A task's row before and after one statement of a transaction."""

    before: TaskRow | None
    after: TaskRow


class Tellings:
    """Compares the events of each transaction with its other rows."""

    def __init__(self, mirror: Mirror, broken: Callable[[str, str], None]) -> None:
        self._mirror = mirror
        self._broken = broken
        self.told: dict[str, list[str]] = {}
        """The kinds of all events, by task: as committed, in order."""

    def committed(self, entries: list[Change]) -> None:
        """Check a transaction; the mirror has followed it already."""
        every = _lines(entries)
        self._check_refused(entries, [(queue, line) for queue, line in every if line.type == StatusEventType.REFUSED])
        lines = [(queue, line) for queue, line in every if line.type != StatusEventType.REFUSED]
        tasks: dict[str, list[TaskChange]] = {}
        for table, before, after in entries:
            if table == "task" and after is not None and after.reply_to is not None:
                tasks.setdefault(after.uid, []).append(TaskChange(before, after))
        for queue, line in lines:
            task = self._mirror.tasks.get(line.uid)
            if task is None or (task.reply_to, task.id) != (queue, line.subject):
                self._broken("S28", f"{queue} was told {line.type} of {line.subject}, whose queue it is not")
        for uid in {**tasks, **{line.uid: None for _, line in lines}}:
            told = [line for _, line in lines if line.uid == uid]
            self._check(uid, tasks.get(uid, []), told, entries)

    def _check_refused(self, entries: list[Change], lines: list[tuple[str, EventLine]]) -> None:
        """A dead letter is reported, in the same commit, to the response queue of its sender and to no other."""
        letters = [entry.after for entry in entries if entry.table == "dead_letter" and entry.before is None]
        expected = sorted(asked for letter in letters if (asked := _asked(letter)) is not None)
        found = sorted((queue, line.subject) for queue, line in lines)
        if found != expected:
            self._broken("S28", f"a commit told {found} of refusals, and buried messages of {expected}")
        for _, line in lines:
            self.told[line.uid] = [line.type]

    def _check(self, uid: str, changes: list[TaskChange], told: list[EventLine], entries: list[Change]) -> None:
        self._check_sequence(uid, changes, told)
        known = self.told.setdefault(uid, [])
        course = EventCourse(changes, entries, uid, self._mirror, has_started=StatusEventType.STARTED in known)
        words = Counter(line.word for line in told)
        if course.told - words or words - course.told - course.may_be_told:
            found, expected = sorted(words.elements()), sorted(course.told.elements())
            self._broken("S28", f"{uid} told {found}, and the rows of its commit say {expected}")
        known.extend(line.type for line in told)
        if known[:1] != [StatusEventType.RECEIVED]:
            self._broken("S28", f"{uid} told {known[:1]} first, and was not received before")
        if told and course.last is not None and told[-1].type != course.last:
            self._broken("S28", f"{uid} told {told[-1].type} last, and became {course.last}")

    def _check_sequence(self, uid: str, changes: list[TaskChange], told: list[EventLine]) -> None:
        known = len(self.told.get(uid, ()))
        expected = list(range(known + 1, known + 1 + len(told)))
        found = [int(line.sequence) for line in told]
        counted = changes[-1].after.events if changes else known
        if found != expected or counted != known + len(told):
            self._broken("S28", f"{uid} told {found} after {known}, and its row counts {counted}")


class EventCourse:
    """What a transaction changes of one task, in the words of events."""

    def __init__(
        self, changes: list[TaskChange], entries: list[Change], uid: str, mirror: Mirror, *, has_started: bool
    ) -> None:
        self.told: Counter[str] = Counter()
        self.may_be_told: Counter[str] = Counter()
        """Beyond that, where the rows do not say whether."""
        self.last: str | None = None
        """The event of the task's end, if there is one."""
        self._has_started = has_started
        steps = _put_back([entry for entry in entries if entry.table == "step" and _of(entry).task == uid])
        self.told.update(_outcomes(steps))
        self.told.update(_delays(entries, uid, steps, changes, mirror))
        for change in changes:
            self._follow(change)
        if changes and changes[-1].after.state == TaskState.WAITING:
            self._wait(changes[0].before, changes[-1].after, went_on=any(map(_is_outcome, steps)))

    def _follow(self, change: TaskChange) -> None:
        before, after = change
        if before is None:
            self._say(StatusEventType.RECEIVED)
        if after.state == TaskState.PROCESSING:
            self.last = None
            if not self._has_started:
                self._has_started = True
                self._say(StatusEventType.STARTED)
        elif before is not None and before.state != after.state and _is_told(before, after):
            self._say(OF_STATE[TaskState(after.state)])

    def _wait(self, before: TaskRow | None, after: TaskRow, *, went_on: bool) -> None:
        """Each wait is reported as it begins; one that continues under another owner is not reported again."""
        if after.waits_for == stopped_tasks.WAITS_FOR:
            if (before is None or before.error != after.error) and _tries(after) == 1:
                self._say(StatusEventType.WAITING)
        elif before is None or before.waits_for != after.waits_for or _waits_until_later(before, after):
            self._say(StatusEventType.WAITING)
        elif went_on and before.state == after.state:
            # It waits for the same again, or its workflow is over and it is cleaning up.
            self.may_be_told[StatusEventType.WAITING.value] += 1
            self.last = None
        elif went_on:
            self._say(StatusEventType.WAITING)

    def _say(self, told: StatusEventType) -> None:
        self.told[told.value] += 1
        self.last = told.value


def _tries(stopped_task: TaskRow) -> int:
    """How often a stopped task was tried with code that did not fit."""
    known = msgspec.json.decode(stopped_task.error or b"{}", type=dict[str, Any])
    return int(known.get("tries", 0))


def _is_told(before: TaskRow, after: TaskRow) -> bool:
    """Of tasks that wait more is to be asked than whether they came into that state."""
    if after.state == TaskState.WAITING:
        return False
    return after.state != TaskState.PENDING or before.state in REOPENED


def _waits_until_later(before: TaskRow, after: TaskRow) -> bool:
    """Whether only the instant of a waiting task changed, as its owner or an inbox row may do."""
    is_held = before.locked_by is not None and after.locked_by is not None
    return is_held and before.state == after.state and before.wake_at != after.wake_at


def _lines(entries: Iterable[Change]) -> list[tuple[str, EventLine]]:
    new = [after for table, before, after in entries if table == "message" and before is None]
    return [(row.queue, _line(row)) for row in new if row.queue.startswith(REPLIES)]


def _asked(letter: LetterRow) -> tuple[str, str] | None:
    """The response queue and the id of a message that can be read and names one."""
    try:
        event = decode_event(letter.body)
    except InvalidPayload:
        return None
    is_told = event.replyto is not None and event.replyto.startswith(REPLIES)
    return (event.replyto or "", event.id) if is_told and letter.queue.startswith(SUBMISSIONS) else None


def _line(row: MessageRow) -> EventLine:
    return msgspec.json.decode(row.body, type=EventLine)


def _of(entry: Change) -> StepRow:
    row: StepRow = entry.after or entry.before
    return row


def _put_back(steps: list[Change]) -> list[Change]:
    """A row that a repair replaces is one that changes; what is set aside tells nothing."""
    gone = {entry.before[:3]: entry.before for entry in steps if entry.after is None}
    return [
        entry._replace(before=gone.get(entry.after[:3], entry.before))
        for entry in steps
        if entry.after is not None and entry.after.set_aside_at is None
    ]


def _is_outcome(entry: Change) -> bool:
    """Whether the workflow was given something."""
    before, after = entry.before, entry.after
    if after is None or after.ordinal is None:
        return after is not None and before is None and after.state == "completed"
    return before is None or before.ordinal != after.ordinal


def _outcomes(steps: list[Change]) -> Iterator[str]:
    """An outcome is reported when it gets its place in the order of delivery."""
    for entry in steps:
        after = entry.after
        if after is not None and after.kind in AWAITED and _is_outcome(entry):
            told = StatusEventType.STEP_COMPLETED if after.state == "completed" else StatusEventType.STEP_FAILED
            yield f"{told} {after.key}"


def _delays(
    entries: list[Change], uid: str, steps: list[Change], changes: list[TaskChange], mirror: Mirror
) -> Iterator[str]:
    """A Supervisor's decision is reported when the owner takes it from the inbox."""
    rows: list[InboxEntry] = [entry.before for entry in entries if entry.table == "inbox" and entry.after is None]
    is_undoing = bool(changes) and changes[0].before is not None and changes[0].before.undo_to is not None
    for row in rows:
        run, _, key = row.name.partition("/")
        if row.task == uid and row.kind == "step" and not is_undoing:
            step = _before((uid, int(run), key), steps, mirror)
            if step is not None and step.state == "to_repeat" and step.kind != "undo":
                yield f"{StatusEventType.STEP_DELAYED} {key}"


def _before(place: tuple[str, int, str], steps: list[Change], mirror: Mirror) -> StepRow | None:
    """The step as it stood before the transaction."""
    for _, before, after in steps:
        if before is not None and (after or before)[:3] == place:
            row: StepRow = before
            return row
    return mirror.steps.get(place)
