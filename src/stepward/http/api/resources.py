"""The records that the API shows, under their own names, with payloads decoded and instants in RFC 3339 UTC."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, TypeVar

from msgspec import Struct

from stepward.client.agent_status import AgentState
from stepward.client.progress import TaskProgress
from stepward.model.agents import AgentHealth
from stepward.model.records import Role
from stepward.model.states import StepState, TaskState
from stepward.payload import displayed
from stepward.settings.sink_settings import Severity

R = TypeVar("R", bound=Struct)


class TaskResource(Struct, frozen=True, kw_only=True):
    """The status of a task."""

    id: str
    uid: str
    workflow: str
    version: str
    state: TaskState
    process_state: str
    locked_by: str | None
    complete_by: datetime | None
    failure_count: int
    priority: int
    fairness_key: str | None
    run: int
    waits_for: str | None
    error: dict[str, Any] | None
    labels: dict[str, str]
    attributes: dict[str, Any]
    """The task's search attributes by name; an instant is a text in ISO 8601."""
    steps_done: int
    steps: int
    progress: TaskProgress
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    deadline: datetime | None


class TaskDetail(TaskResource, frozen=True, kw_only=True):
    """A task with all its fields, without its steps."""

    input: Any
    output: Any
    reply_to: str | None
    events: int
    payloads: bool
    """Whether payloads are shown; if not, their fields are null."""


class StepResource(Struct, frozen=True, kw_only=True):
    """A step."""

    key: str
    name: str
    run: int
    kind: str
    state: StepState
    attempt: int
    failure_count: int
    complete_by: datetime | None
    started_at: datetime | None
    finished_at: datetime | None
    in_doubt: bool
    input: Any
    output: Any
    error: Any
    agent: str | None
    progress: Any
    progress_at: datetime | None
    deferred_at: datetime | None
    generation: int
    set_aside_at: datetime | None


class AlertResource(Struct, frozen=True, kw_only=True):
    """An alert."""

    number: int
    at: datetime
    kind: str
    task: str | None
    task_id: str | None
    step: str | None
    message: str
    details: Any
    delivered_at: datetime | None
    tries: int
    acknowledged_at: datetime | None
    acknowledged_by: str | None
    resolved_at: datetime | None
    """When what it reports was over by itself."""
    workflow: str | None
    severity: Severity


class SinkResource(Struct, frozen=True, kw_only=True):
    """A sink of alerts."""

    name: str
    description: str
    reported_at: datetime


class WebhookResource(Struct, frozen=True, kw_only=True):
    """A webhook that gets status events."""

    name: str
    description: str
    state: str
    reported_at: datetime
    taken: int
    taken_at: datetime | None
    failing_since: datetime | None
    tries: int
    next_try: datetime
    error: str | None
    disabled_at: datetime | None
    disabled_by: str | None


class SilenceResource(Struct, frozen=True, kw_only=True):
    """Alerts of a kind that no sink gets until an instant."""

    kind: str
    workflow: str | None
    """The workflow that the alerts are about; null: of all."""
    until: datetime
    set_at: datetime
    set_by: str
    note: str | None


class ReceiptResource(Struct, frozen=True, kw_only=True):
    """What one sink has taken of one alert."""

    number: int
    sink: str
    raised_at: datetime | None
    resolved_at: datetime | None
    tries: int
    next_try: float
    error: str | None
    given_up_at: datetime | None


class AuditResource(Struct, frozen=True, kw_only=True):
    """An act of the audit."""

    number: int
    at: datetime
    actor: str
    act: str
    task: str | None
    task_id: str | None
    step: str | None
    before: str | None
    after: str | None
    details: Any


class InstanceResource(Struct, frozen=True, kw_only=True):
    """A running actor."""

    id: str
    role: Role
    host: str
    pid: int
    serves: list[str]
    started_at: datetime
    expires_at: datetime
    alive: bool
    capacity: int
    health: list[AgentHealth]
    demand: dict[str, int]
    ended: bool
    ahead: float | None
    drain_at: datetime | None
    """Since when an operator wants its process to end in good order."""


class LimitResource(Struct, frozen=True, kw_only=True):
    """A limit, and what runs under it."""

    name: str
    concurrency: int | None
    rate: str | None
    per_key: bool
    declared_concurrency: int | None
    declared_rate: str | None
    in_use: int
    leased: int
    waiting: int
    lost: int
    set_at: datetime | None
    set_by: str | None
    note: str | None


class AgentStatsResource(Struct, frozen=True, kw_only=True):
    """How attempts at an Agent ended, in the newest 1,000 tasks of the last hour."""

    name: str
    attempts: int
    """Attempts that ended."""
    failed: int
    """Those of them that ended with an error, or without an outcome."""
    error_rate: float
    """The share of attempts that failed, from 0 to 1."""
    p50_seconds: float | None
    """The median duration of the last attempts of steps that completed or failed."""
    p95_seconds: float | None


class AgentResource(Struct, frozen=True, kw_only=True):
    """The status of an Agent."""

    name: str
    state: AgentState
    instances: int
    capacity: int
    in_flight: int
    stuck: int
    asked: int
    waiting_since: datetime | None
    hosts: list[str]
    suspended_at: datetime | None
    suspended_by: str | None
    note: str | None
    opened_at: datetime | None


class ScheduleResource(Struct, frozen=True, kw_only=True):
    """A schedule of recurring tasks."""

    name: str
    workflow: str
    version: str
    input: Any
    cron: str
    timezone: str
    catch_up: str
    priority: int
    fairness_key: str | None
    complete_seconds: float | None
    next_at: datetime | None
    fired_at: datetime | None
    paused_at: datetime | None
    overlap: str
    jitter: float
    starts_at: datetime | None
    ends_at: datetime | None
    created_by: str | None
    last_task: str | None


class DeadLetterResource(Struct, frozen=True, kw_only=True):
    """A message that could not be processed."""

    number: int
    queue: str
    body: str | None
    """The body as text, which need not be JSON; null where payloads are not shown."""
    reason: str | None
    tries: int
    buried_at: datetime


def resource(kind: type[R], record: Struct, **more: Any) -> R:
    """The record as the API shows it; ``more`` gives further fields."""
    fields = [name for name in kind.__struct_fields__ if name not in more]
    instants = {name for name in fields if "datetime" in str(kind.__annotations__.get(name, _inherited(kind, name)))}
    return kind(**{name: _shown(getattr(record, name), name in instants) for name in fields}, **more)


def _inherited(kind: type[Struct], name: str) -> object:
    return next(
        (base.__annotations__[name] for base in kind.__mro__ if name in getattr(base, "__annotations__", ())), ""
    )


def _shown(value: Any, is_instant: bool) -> Any:
    if is_instant and value is not None:
        return datetime.fromtimestamp(value, UTC)
    return displayed(value) if isinstance(value, bytes) else value
