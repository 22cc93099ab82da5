"""The records of the state store, as plain data. Instants are seconds of the store's clock; payloads are JSON bytes."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from stepward.model.agents import AgentHealth
from stepward.model.states import StepKind, StepState, TaskState
from stepward.settings.sink_settings import Severity

PRIORITIES = range(10)
"""0 is the lowest, 9 the highest."""


class Task(Struct, kw_only=True, gc=False):
    """One run of a workflow: the pattern's state record (R22)."""

    uid: str
    """UUIDv7 made at submission; never reused, so idempotency keys are derived from it."""
    id: str
    """The id that callers use; the uid unless they gave one."""
    workflow: str
    version: str
    state: TaskState = TaskState.PENDING
    priority: int = 5
    fairness_key: str | None = None
    labels: bytes = b"{}"
    run: int = 1
    """Counts ``continue_as_new``; a step's primary key is (task, run, key)."""
    input: bytes = b"[]"
    output: bytes | None = None
    error: bytes | None = None
    """A JSON object: message, type, step, data, maybe_done, in_doubt."""
    locked_by: str | None = None
    complete_by: float | None = None
    """When its present work must be complete; None without an owner. See ``model/tasks/complete_by.py``."""
    wake_at: float | None = None
    """The instant from which it can be claimed while ``waiting`` or ``pending`` (a delay); None: only with an inbox
    row."""
    waits_for: str | None = None
    """What a waiting task waits for, as operators read it."""
    undo_to: TaskState | None = None
    """The state in which it will end (``undone`` or ``cancelled``); set when undo began."""
    inbox: int = 0
    """How many rows were ever put into the inbox; releasing the task compares it."""
    failure_count: int = 0
    """Expiries of its steps plus takeovers."""
    recovery_count: int = 0
    """Takeovers without any outcome recorded in between."""
    parent: str | None = None
    """The uid of the parent task, and ``parent_step`` its step there."""
    parent_run: int | None = None
    parent_step: str | None = None
    reply_to: str | None = None
    created_at: float = 0.0
    started_at: float | None = None
    finished_at: float | None = None
    events: int = 0
    """Status events sent so far: the sequence number of the last one."""
    deadline: float | None = None
    """The task's own deadline, if its submission or its workflow sets one."""
    hangs: int = 0
    """How often its workflow code blocked a process until that process ended itself."""
    depth: int = 0
    """Its depth: how many ancestors it has."""
    attributes: bytes = b"{}"
    """Typed values by which it is searched, as a JSON object; see ``model/tasks/attributes.py``."""
    events_to: str | None = None
    """The webhooks that get its status events; see ``model/messages/event_queues.py``."""


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
    """0 until it first runs; attempts are numbered 1..n without gaps."""
    failure_count: int = 0
    complete_by: float | None = None
    complete_seconds: float | None = None
    """Seconds for each attempt; complete_by counts from the commit that starts it."""
    started_at: float | None = None
    finished_at: float | None = None
    repeat_at: float | None = None
    """When the next attempt of a step ``to_repeat`` may start."""
    ordinal: int | None = None
    """The position of its outcome in the order of delivery to the workflow; None: not delivered."""
    input: bytes = b"[]"
    output: bytes | None = None
    error: bytes | None = None
    has_undo: bool = False
    irreversible: bool = False
    in_doubt: bool = False
    """Whether an attempt's outcome is unknown: undo treats the step as possibly executed."""
    watched: bool = False
    """Whether the Supervisor looks at it: unanswered a second after publishing, or to be judged."""
    generation: int = 0
    """Incremented by a resubmission after a known failure or with edited input; ``#g`` in the idempotency key."""
    progress: bytes | None = None
    """The last progress reported in this attempt or an earlier one."""
    progress_at: float | None = None
    deferred_at: float | None = None
    """When its Agent deferred this attempt: from then on the holder of the completion token finishes the step."""
    asked: int | None = None
    """How many commands its run had issued (steps, timers, signals, values) before this outcome was delivered."""
    set_aside_at: float | None = None
    """When a repair set it aside: it is not replayed any more, and its effect still counts for undo."""


class InboxKind(StrEnum):
    """The kinds of inbox rows, addressed to a task's owner."""

    SIGNAL = "signal"
    UNDO = "undo"
    CANCEL = "cancel"
    SUSPEND = "suspend"
    FAIL = "fail"
    """Set the task to error with an alert (the Supervisor's last rung); the body is the error object."""
    STEP = "step"
    """A step's row was changed outside its owner (decided to_repeat, failed, marked done): read it again.

    Without a name the task's own row was changed: release the task, for any Scheduler to claim.
    """
    CHILD = "child"
    """A child task ended."""
    REPLY = "reply"
    """A reply that reached a Scheduler that does not own the task."""


class InboxRow(Struct, frozen=True, kw_only=True, gc=False):
    """A row of a task's inbox; ``number`` orders all inbox rows of a store."""

    number: int
    task: str
    kind: InboxKind
    name: str = ""
    """Signal: its name. Step: ``run/key``. Child: ``run/key`` in the parent."""
    body: bytes = b"null"
    sender: str = ""


class History(Struct, frozen=True):
    """Everything that a Scheduler needs to continue a task."""

    task: Task
    steps: list[Step]
    """Every step of the current run in order of number; of every run if the task is undoing."""
    inbox: list[InboxRow]


class Role(StrEnum):
    """The role of an instance."""

    SCHEDULER = "scheduler"
    AGENT = "agent"
    SUPERVISOR = "supervisor"
    SUBMISSION = "submission"


class Digest(Struct, frozen=True, array_like=True):
    """Digests that distinguish two definitions of a workflow with one name and version."""

    code: str
    """Of the workflow function or the plan; empty if the source cannot be read."""
    policy: str
    """Of its Supervision and its complete-by."""


class Instance(Struct, frozen=True, kw_only=True):
    """A running actor with a lease, under an id that is never reused."""

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
    """Of an Agent instance: its last report about each Agent that it serves."""
    demand: dict[str, int] = {}
    """Of a Scheduler: its last reported demand at each Agent: requests in flight, and steps that wait for room."""
    digests: dict[str, Digest] = {}
    """A Scheduler's workflows by ``workflow@version``."""
    ended: bool = False
    """Whether it ended in good order, if it is not alive."""
    ahead: float | None = None
    """Seconds by which its host's wall clock was ahead of the store's at its last renewal; None if not reported."""
    waits: dict[str, float] = {}
    """Of a Scheduler: by Agent, since when the oldest step has waited for room, at its last renewal."""
    drain_at: float | None = None
    """Since when an operator wants its process to end in good order; None: no operator does."""


class Alert(Struct, frozen=True, kw_only=True):
    """A condition that an operator must see; inserted in the transaction of the state that causes it."""

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
    resolved_at: float | None = None
    """When what it reports was over by itself; it is acknowledged then too."""
    workflow: str | None = None
    """The workflow of its task. It is joined when the alert is read, not stored; None once the task is deleted."""
    severity: Severity | None = None
    """By its kind, when the alert is read; not stored."""


class Audit(Struct, frozen=True, kw_only=True):
    """An act of a person or the Supervisor, or a stray message, recorded permanently."""

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
    """The task's id for operators; None once the task is deleted. It is joined when the entry is read, not stored."""


class WorkflowRecord(Struct, frozen=True, kw_only=True):
    """The registration of a workflow by Schedulers, so that clients and Supervisors need no code."""

    name: str
    version: str
    schema: bytes
    """JSON Schema of the argument array."""
    policy: bytes
    """The Supervision policy as JSON."""
    complete_seconds: float | None = None
    plan: bytes | None = None
    """The stages of a declared plan as JSON; None for a workflow in code."""
    events_to: str | None = None
    """``events_to`` of its tasks."""


class DeadLetter(Struct, frozen=True, kw_only=True):
    """A message that could not be processed, kept for an operator."""

    number: int
    queue: str
    body: bytes
    reason: str
    tries: int
    """How often it had been taken."""
    buried_at: float
