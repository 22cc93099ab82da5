"""The records of the state store, as plain data. Instants are seconds of the store's clock; payloads JSON bytes."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from stepward.model.agents import AgentHealth
from stepward.model.states import StepKind, StepState, TaskState

PRIORITIES = range(10)
"""0 goes last, 9 first."""


class Task(Struct, kw_only=True, gc=False):
    """One run of a workflow: the pattern's state record (R22)."""

    uid: str
    """UUIDv7 made at submission; never used twice, so idempotency keys build on it."""
    id: str
    """What callers know the task by; the uid unless they gave one."""
    workflow: str
    version: str
    state: TaskState = TaskState.PENDING
    priority: int = 5
    fairness_key: str | None = None
    labels: bytes = b"{}"
    run: int = 1
    """Counts ``continue_as_new``; steps are keyed (task, run, key)."""
    input: bytes = b"[]"
    output: bytes | None = None
    error: bytes | None = None
    """A JSON object: message, type, step, data, maybe_done, in_doubt."""
    locked_by: str | None = None
    complete_by: float | None = None
    """By when what it does now must be complete; None while nobody works on it. See ``model/complete_by.py``."""
    wake_at: float | None = None
    """Claimable from then on while ``waiting`` or ``pending`` (a delay); None: not before an inbox row."""
    waits_for: str | None = None
    """What an operator is told a waiting task waits for."""
    undo_to: TaskState | None = None
    """Set once undo began: the state that it ends in (``undone`` or ``cancelled``)."""
    inbox: int = 0
    """Counts the rows ever put into the inbox; letting the task go compares it."""
    failure_count: int = 0
    """Expiries of its steps plus takeovers."""
    recovery_count: int = 0
    """Takeovers with no outcome recorded in between."""
    parent: str | None = None
    """The uid of the task that started this one, and ``parent_step`` the step there."""
    parent_run: int | None = None
    parent_step: str | None = None
    reply_to: str | None = None
    created_at: float = 0.0
    started_at: float | None = None
    finished_at: float | None = None
    events: int = 0
    """Status events told to ``reply_to`` so far: the sequence of the last one."""
    deadline: float | None = None
    """By when the whole task is to end, if its submission or its workflow says so."""
    hangs: int = 0
    """How often its workflow code held up a process until that process ended itself."""
    depth: int = 0
    """How many tasks stand above it: its parent, the parent of that, and so on."""


class Step(Struct, kw_only=True, gc=False):
    """One durable action of a task; its key is name and occurrence: ``payments.charge/2``."""

    task: str
    run: int
    key: str
    number: int
    """Order of creation within the run, from 1."""
    name: str
    kind: StepKind
    state: StepState
    agent: str | None = None
    attempt: int = 0
    """0 until it first runs; attempts are 1..n without gaps."""
    failure_count: int = 0
    complete_by: float | None = None
    complete_seconds: float | None = None
    """How long each attempt may take; complete_by counts from the commit that starts it."""
    started_at: float | None = None
    finished_at: float | None = None
    repeat_at: float | None = None
    """When the next attempt of a step ``to_repeat`` may start."""
    ordinal: int | None = None
    """The place of its outcome in the order of delivery to the workflow; None: not delivered."""
    input: bytes = b"[]"
    output: bytes | None = None
    error: bytes | None = None
    has_undo: bool = False
    irreversible: bool = False
    in_doubt: bool = False
    """Some attempt's outcome is unknown: undo treats the step as possibly executed."""
    watched: bool = False
    """Unanswered a second after publishing, or to be judged: the Supervisor looks at these alone."""
    generation: int = 0
    """Raised by a resubmission after a known failure or with edited input; ``#g`` in the idempotency key."""
    progress: bytes | None = None
    """What the code at work told of its progress last, in this attempt or one before."""
    progress_at: float | None = None
    deferred_at: float | None = None
    """Since when its Agent has done its part in this attempt: whoever holds the completion token finishes the step."""
    asked: int | None = None
    """How much its run had asked for (steps, timers, signals, values) before this outcome was delivered."""
    set_aside_at: float | None = None
    """Since when a repair has taken it out of what is replayed; what it did still counts for undo."""


class InboxKind(StrEnum):
    """What others want of a task's owner."""

    SIGNAL = "signal"
    UNDO = "undo"
    CANCEL = "cancel"
    SUSPEND = "suspend"
    FAIL = "fail"
    """Set the task to error with an alert (the Supervisor's last rung); the body is the error object."""
    STEP = "step"
    """A step's row was changed by someone else (decided to_repeat, failed, marked done): read it again. Without a
    name it is the task's own that was: give the task back, for any Scheduler to take."""
    CHILD = "child"
    """A child task ended."""
    REPLY = "reply"
    """A reply that reached a Scheduler that does not own the task."""


class InboxRow(Struct, frozen=True, kw_only=True, gc=False):
    """A row of a task's inbox; ``number`` orders all rows of a store."""

    number: int
    task: str
    kind: InboxKind
    name: str = ""
    """Signal: its name. Step: ``run/key``. Child: ``run/key`` in the parent."""
    body: bytes = b"null"
    sender: str = ""


class History(Struct, frozen=True):
    """All that a Scheduler needs to go on with a task."""

    task: Task
    steps: list[Step]
    """Every step of the current run in order of number; of every run when the task is undoing."""
    inbox: list[InboxRow]


class Role(StrEnum):
    """What an instance does."""

    SCHEDULER = "scheduler"
    AGENT = "agent"
    SUPERVISOR = "supervisor"
    SUBMISSION = "submission"


class Digest(Struct, frozen=True, array_like=True):
    """By what a workflow that a Scheduler serves is told from another one of that name and version."""

    code: str
    """Of the workflow function or the plan; empty where the source cannot be read."""
    policy: str
    """Of its Supervision and its complete-by."""


class Instance(Struct, frozen=True, kw_only=True):
    """A running actor with a lease, under an id never used twice."""

    id: str
    role: Role
    host: str
    pid: int
    serves: list[str]
    """Scheduler: ``workflow@version``. Agent: names of Agents. Else empty."""
    started_at: float = 0.0
    expires_at: float = 0.0
    alive: bool = True
    capacity: int = 0
    health: list[AgentHealth] = []
    """An Agent instance's last word of each Agent that it serves."""
    demand: dict[str, int] = {}
    """A Scheduler's last word of what it asks of each Agent: requests that are out, and steps that wait for room."""
    digests: dict[str, Digest] = {}
    """A Scheduler's workflows by ``workflow@version``."""
    ended: bool = False
    """Whether it gave itself up in good order, where it is not alive."""
    ahead: float | None = None
    """Seconds by which its host's wall clock was ahead of the store's at its last renewal; None if it does not say."""


class Alert(Struct, frozen=True, kw_only=True):
    """Something an operator must see; made in the transaction of the state that needs it."""

    number: int = 0
    at: float = 0.0
    kind: str
    """``task_error``, ``undo_failed``, ``late_effect_after_undo``, ``non_deterministic``, ``unserved``, …"""
    task: str | None = None
    task_id: str | None = None
    step: str | None = None
    message: str
    details: bytes = b"{}"
    delivered_at: float | None = None
    tries: int = 0
    acknowledged_at: float | None = None
    acknowledged_by: str | None = None


class Audit(Struct, frozen=True, kw_only=True):
    """An act of a person, the Supervisor or a stray message, told once and for good."""

    number: int = 0
    at: float = 0.0
    actor: str
    act: str
    task: str | None = None
    step: str | None = None
    before: str | None = None
    after: str | None = None
    details: bytes = b"{}"
    task_id: str | None = None
    """By which operators know the task; None once it is deleted. It is read with the act and not written."""


class WorkflowRecord(Struct, frozen=True, kw_only=True):
    """What Schedulers register of a workflow, so that clients and Supervisors need no code."""

    name: str
    version: str
    schema: bytes
    """JSON Schema of the argument array."""
    policy: bytes
    """The Supervision policy as JSON."""
    complete_seconds: float | None = None
    plan: bytes | None = None
    """The stages of a declared plan as JSON; None for workflow code."""


class Schedule(Struct, frozen=True, kw_only=True):
    """A recurring task: its workflow is run at every nominal time of its cron expression."""

    name: str
    workflow: str
    version: str
    input: bytes
    cron: str
    timezone: str
    catch_up: str
    priority: int
    fairness_key: str | None = None
    complete_seconds: float | None = None
    next_at: float | None = None
    """The next nominal time to be fired; None when there is none any more."""
    fired_at: float | None = None
    """The last nominal time that was fired."""
    paused_at: float | None = None


class DeadLetter(Struct, frozen=True, kw_only=True):
    """A message that nobody could use, kept for an operator."""

    number: int
    queue: str
    body: bytes
    reason: str
    tries: int
    """How often it had been taken."""
    buried_at: float
