"""A Scheduler for tests: keeps the rows of one task as a store would, and drives its execution."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from msgspec import structs

from stepward.model.records import Step, Task
from stepward.model.states import StepKind, StepState, TaskState
from stepward.workflow.decisions import Completed, Continued, Decisions, Failed, RunEnd
from stepward.workflow.definition import Workflow
from stepward.workflow.execution import Execution
from stepward.workflow.replay.history_replay import verify

START = 1_700_000_000.0


class Play:
    """One task: ``execution`` in memory, ``rows`` as stored, ``now`` as the store's clock."""

    def __init__(self, workflow: Workflow[Any, Any], *args: Any, uid: str = "uid-1", **options: Any) -> None:
        self.workflow = workflow
        self.options = options
        self.now = START
        self.rows: dict[str, Step] = {}
        self.signals: dict[int, tuple[str, bytes, float]] = {}
        self.answers: dict[str, tuple[bool, Any]] = {}
        """By the id of the update: whether it was accepted, and the result or the error."""
        self.end: RunEnd | None = None
        self.task = Task(
            uid=uid,
            id=f"id of {uid}",
            workflow=workflow.name,
            version=workflow.version,
            state=TaskState.PROCESSING,
            input=json.dumps(args).encode(),
            labels=b'{"shop":"north"}',
            created_at=START - 5,
            started_at=START,
        )
        self.execution = self.begin()

    def begin(self, workflow: Workflow[Any, Any] | None = None) -> Execution:
        """A fresh execution from the rows, as after a crash or an eviction, perhaps of changed code."""
        rows = [structs.replace(one) for one in sorted(self.rows.values(), key=lambda one: one.number)]
        self.execution = Execution(workflow or self.workflow, self.task, rows, **self.options)
        for number, (name, payload, at) in list(self.signals.items()):
            self.execution.signal(number, name, payload, at)
        self.execution.start(self.now)
        self.absorb()
        return self.execution

    def restart(self, workflow: Workflow[Any, Any] | None = None) -> Decisions:
        """Discard, begin again; what the beginning decided."""
        self.execution.discard()
        self.begin(workflow)
        return self.decisions

    def absorb(self) -> None:
        """Write what was decided since last time."""
        self.decisions = decisions = self.execution.take()
        for call in decisions.calls:
            assert call.key not in self.rows
            self.rows[call.key] = row(call.key, call.action.kind, call.number, call.input)
        for one in decisions.recorded:
            assert one.key not in self.rows
            new = row(one.key, StepKind(one.kind), one.number, one.input, StepState.COMPLETED)
            new.output, new.ordinal, new.asked, new.finished_at = one.output, one.ordinal, one.asked, one.at
            self.rows[one.key] = new
            if one.taken is not None:
                del self.signals[one.taken]
        for answer in decisions.answers:
            self.answers.setdefault(answer.id, (answer.is_accepted, json.loads(answer.body)))
            if answer.taken is not None:
                del self.signals[answer.taken]
        for delivered in decisions.delivered:
            self.rows[delivered.key].ordinal, self.rows[delivered.key].asked = delivered.ordinal, delivered.asked
        for key in decisions.abandoned:
            self.rows[key].state = StepState.ABANDONED
        self.end = decisions.end
        ordinals = [one.ordinal for one in self.rows.values() if one.ordinal is not None]
        assert len(ordinals) == len(set(ordinals))

    @property
    def running(self) -> list[str]:
        """Keys of the steps that are under way."""
        return [key for key, one in self.rows.items() if one.state is StepState.RUNNING]

    def finish(self, key: str, value: Any = None, *, later: float = 1.0) -> None:
        """A step completes ``later`` seconds after the last thing that happened."""
        self.record(key, value, later=later)
        one = self.rows[key]
        assert one.finished_at is not None
        self.execution.resolve(key, output=one.output, error=None, at=one.finished_at)
        self.absorb()

    def fail(self, key: str, message: str = "refused", **fields: Any) -> None:
        """A step fails for good."""
        self.now += 1
        one = self.rows[key]
        one.state, one.finished_at = StepState.FAILED, self.now
        one.error = json.dumps({"message": message, "type": "Unrecoverable", **fields}).encode()
        self.execution.resolve(key, output=None, error=one.error, at=self.now)
        self.absorb()

    def record(self, key: str, value: Any = None, *, later: float = 1.0) -> None:
        """A step's outcome is stored, and not delivered."""
        self.now += later
        one = self.rows[key]
        one.state, one.output, one.finished_at = StepState.COMPLETED, json.dumps(value).encode(), self.now

    def fire(self, later: float = 0.0) -> None:
        """Time passes; due timers fire."""
        self.now += later
        self.execution.fire(self.now)
        self.absorb()

    def signal(self, name: str, payload: Any = None) -> None:
        """A signal arrives in the inbox."""
        self.now += 1
        number = int(self.now * 10)
        self.signals[number] = (name, json.dumps(payload).encode(), self.now)
        self.execution.signal(number, *self.signals[number])
        self.absorb()

    @property
    def result(self) -> Any:
        """What the workflow returned."""
        assert isinstance(self.end, Completed), self.end
        return json.loads(self.end.output)

    @property
    def error(self) -> dict[str, Any]:
        """The error object of a workflow that failed."""
        assert isinstance(self.end, Failed), self.end
        error: dict[str, Any] = json.loads(self.end.error)
        return error | {"step_failed": self.end.step_failed}

    def next_run(self) -> None:
        """Begin the run that continue_as_new asked for."""
        assert isinstance(self.end, Continued), self.end
        self.now += 100
        self.task.run += 1
        self.task.input = self.end.input
        self.rows.clear()
        self.begin()

    @property
    def continued(self) -> Any:
        """The next run's arguments."""
        assert isinstance(self.end, Continued), self.end
        return json.loads(self.end.input)

    def verified(self) -> str | None:
        """What a replay of the finished task finds."""
        self.task.state = TaskState.PROCESSED if isinstance(self.end, Completed) else TaskState.ERROR
        self.task.output = self.end.output if isinstance(self.end, Completed) else None
        return verify(self.workflow, self.task, sorted(self.rows.values(), key=lambda one: one.number))


def row(key: str, kind: StepKind, number: int, input: bytes, state: StepState = StepState.RUNNING) -> Step:
    """A stored step."""
    return Step(
        task="uid-1",
        run=1,
        key=key,
        number=number,
        name=key.rpartition("/")[0],
        kind=kind,
        state=state,
        input=input,
    )


def histories(rows: Sequence[Step]) -> list[tuple[str, int | None, bytes | None]]:
    """What must not change when a task is replayed."""
    return [(one.key, one.ordinal, one.output) for one in rows]
