"""Prometheus metrics of the actors of a process: an observer of their events, and a collector."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from prometheus_client.metrics_core import Metric

from stepward.events import Event
from stepward.model.states import TASK_ENDS
from stepward.telemetry.counters import ROWS, Counter, Histogram
from stepward.telemetry.store_metrics import by_label

MEASUREMENTS = frozenset({"turn.committed", "agent.attempted", "attempt.taken_over"})
"""What only observers that measure are passed."""
MOST_RUNNING = 200_000
"""Most running steps whose start is remembered; beyond that the durations of the oldest are not measured."""
StartedStep = tuple[str, int, str]
"""Task, run and key of a step that runs."""


class ProcessMetrics:
    """Counts events of a process."""

    def __init__(self, waits: Callable[[], Mapping[str, float]] = dict) -> None:
        self._waits = waits
        self._started: dict[StartedStep, float] = {}
        self._events = Counter("stepward_events", "Events of the actors, by name.", ["event"])
        self._ended = Counter("stepward_tasks_ended", "Tasks that ended here.", ["workflow", "state"])
        self._submitted = Counter("stepward_tasks_submitted", "Tasks that the Scheduler here recorded.")
        self._attempts = Counter(
            "stepward_step_attempts", "Attempts of steps that the Scheduler here began.", ["operation", "kind"]
        )
        self._steps = Counter("stepward_steps_ended", "Steps whose outcome was recorded.", ["operation", "state"])
        self._step_seconds = Histogram(
            "stepward_step_seconds", "Seconds from the start of a step's last attempt to its outcome.", ["operation"]
        )
        self._gave_up = Counter("stepward_steps_gave_up", "Attempts that the Supervisor has to judge.", ["operation"])
        self._turns = Histogram("stepward_turn_seconds", "Seconds of a turn that committed.")
        self._commits = Histogram("stepward_commit_seconds", "Seconds of the commits of a turn.")
        self._rows = Histogram("stepward_commit_rows", "Rows written by a turn.", bounds=ROWS)
        self._missed = Counter("stepward_tasks_missed", "Changes of tasks that did not apply.")
        self._calls = Histogram(
            "stepward_agent_attempt_seconds",
            "Seconds of an attempt at its Agent.",
            ["agent", "operation", "outcome"],
        )
        self._retries = Counter("stepward_agent_retries", "Repeated calls within attempts.", ["agent", "operation"])
        self._outages = Counter("stepward_store_unavailable", "Failures to reach the store.")
        self._decisions = Counter("stepward_supervisor_decisions", "Decisions of the Supervisor here.", ["act"])
        self._posted = Counter(
            "stepward_webhook_events", "Status events that were offered to a webhook.", ["webhook", "outcome"]
        )
        self._handlers: dict[str, Callable[[Mapping[str, Any]], object]] = {
            "turn.committed": self._turn,
            "agent.attempted": self._attempted,
            "attempt.taken_over": lambda fields: self._started.setdefault(fields["place"], fields["at"]),
            "store.unavailable": lambda _: self._outages.add(()),
            "steps.judged": self._judged,
            "webhook.delivered": self._delivered,
            "task.expired": lambda fields: self._decisions.add((f"task_{fields['act']}",)),
            **{f"task.{state}": self._task_ended(str(state)) for state in TASK_ENDS},
        }

    def __call__(self, event: Event) -> None:
        """Counts ``event``."""
        if event.name not in MEASUREMENTS:
            self._events.add((event.name,))
        handler = self._handlers.get(event.name)
        if handler is not None:
            handler(event.fields)

    def collect(self) -> Iterator[Metric]:
        """Every metric of the process."""
        for metric in (
            self._events,
            self._ended,
            self._submitted,
            self._attempts,
            self._steps,
            self._step_seconds,
            self._gave_up,
            self._turns,
            self._commits,
            self._rows,
            self._missed,
            self._calls,
            self._retries,
            self._outages,
            self._decisions,
            self._posted,
        ):
            yield metric.family()
        yield by_label(
            "stepward_agent_oldest_wait_seconds",
            "Seconds for which the oldest step has waited for room at the Agent, in the Scheduler here.",
            "agent",
            self._waits(),
        )

    def _turn(self, fields: Mapping[str, Any]) -> None:
        self._turns.observe((), fields["seconds"])
        self._commits.observe((), fields["commit_seconds"])
        self._rows.observe((), fields["rows"])
        if fields["submitted"]:
            self._submitted.add((), fields["submitted"])
        if fields["missed"]:
            self._missed.add((), fields["missed"])
        for place, attempt, at in fields["started"]:
            self._started[place] = at
            self._attempts.add((operation_of(place[2]), "first" if attempt == 1 else "repeat"))
        for place, finish in fields["finished"]:
            operation = operation_of(place[2])
            self._steps.add((operation, finish.state))
            began_at = self._started.pop(place, None)
            if began_at is not None:
                self._step_seconds.observe((operation,), max(0.0, finish.finished_at - began_at))
        for watch in fields["gave_up"]:
            self._gave_up.add((operation_of(watch.key),))
        while len(self._started) > MOST_RUNNING:
            del self._started[next(iter(self._started))]

    def _attempted(self, fields: Mapping[str, Any]) -> None:
        agent, operation = fields["agent"], fields["operation"]
        self._calls.observe((agent, operation, fields["outcome"]), fields["seconds"])
        if fields["calls"] > 1:
            self._retries.add((agent, operation), fields["calls"] - 1)

    def _delivered(self, fields: Mapping[str, Any]) -> None:
        for outcome in ("taken", "refused", "dead"):
            if fields[outcome]:
                self._posted.add((fields["webhook"], outcome), fields[outcome])

    def _judged(self, fields: Mapping[str, Any]) -> None:
        for act, count in fields.items():
            if act != "applied":
                self._decisions.add((act,), count)

    def _task_ended(self, state: str) -> Callable[[Mapping[str, Any]], None]:
        return lambda fields: self._ended.add((fields["workflow"], state))


def operation_of(key: str) -> str:
    """The name of a step without its occurrence: ``payments.charge`` of ``payments.charge/2``."""
    return key.rpartition("/")[0] or key
