"""A Supervisor's store in memory: rows are lists, the test sets the clock, calls are on record."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from stepward.errors import StoreUnavailable
from stepward.model.records import Alert, Audit, Instance, Role, Schedule, Task
from stepward.model.states import TaskState
from stepward.store.contract import Decision, Due, ExpiredStep, ExpiredTask, Post


class FakeStore:
    """Implements ``SupervisorStore``; verbs that prove a term change nothing under another."""

    def __init__(self) -> None:
        self.time = 1000.0
        self.calls: list[str] = []
        self.failing: set[str] = set()
        self.term: int | None = 1
        self.valid_term = 1
        self.dead: list[Instance] = []
        self.held = 0
        self.steps: list[ExpiredStep] = []
        self.tasks: list[ExpiredTask] = []
        self.unserved_kinds = 0
        self.alerts: dict[int, Alert] = {}
        self.next_tries: dict[int, float] = {}
        self.ended_at: list[float] = []
        self.decisions: list[Decision] = []
        self.expiries: list[tuple[Post, Audit]] = []
        self.graces: list[float] = []
        self.recurring: dict[str, Schedule] = {}
        self.fired: list[Task] = []

    def now(self) -> float:
        return self.time

    async def lead(self, instance: str, lease: float) -> int | None:
        self._call("lead")
        self.lead_lease = lease
        return self.term

    async def due(self) -> Due:
        self._call("due")
        return Due(
            dead_instances=len(self.dead),
            free_tasks=self.held,
            steps=len(self.steps),
            tasks=len(self.tasks),
            unserved=self.unserved_kinds,
            alerts=len(self._due_alerts()),
            schedules=len(self._due_schedules()),
        )

    async def forgive(self, term: int, grace: float) -> bool:
        self._call("forgive")
        self.graces.append(grace)
        return term == self.valid_term

    async def fence(self, term: int) -> list[Instance]:
        self._call("fence")
        if term != self.valid_term:
            return []
        dead, self.dead = self.dead, []
        self.held += len(dead)
        return dead

    async def free(self, term: int, recovery_limit: int) -> int:
        self._call("free")
        if term != self.valid_term:
            return 0
        freed, self.held = self.held, 0
        return freed

    async def expired_steps(self, limit: int) -> list[ExpiredStep]:
        self._call("expired_steps")
        return self.steps[:limit]

    async def decide(self, term: int, decisions: Sequence[Decision]) -> int:
        self._call("decide")
        if term != self.valid_term:
            return 0
        decided = {(d.task, d.key, d.attempt) for d in decisions}
        before = len(self.steps)
        self.steps = [s for s in self.steps if (s.task, s.key, s.attempt) not in decided]
        self.decisions.extend(decisions)
        return before - len(self.steps)

    async def expired_tasks(self, limit: int) -> list[ExpiredTask]:
        self._call("expired_tasks")
        return self.tasks[:limit]

    async def expire_task(self, term: int, task: str, post: Post, audit: Audit) -> bool:
        self._call("expire_task")
        if term != self.valid_term:
            return False
        self.tasks = [row for row in self.tasks if row.task != task]
        self.expiries.append((post, audit))
        return True

    async def due_schedules(self, limit: int) -> list[Schedule]:
        self._call("due_schedules")
        return self._due_schedules()[:limit]

    async def fire(self, term: int, schedule: Schedule, tasks: Sequence[Task], next_at: float | None) -> bool:
        self._call("fire")
        if term != self.valid_term or self.recurring[schedule.name].next_at != schedule.next_at:
            return False
        self.recurring[schedule.name] = msgspec.structs.replace(schedule, next_at=next_at)
        self.fired.extend(tasks)
        return True

    def _due_schedules(self) -> list[Schedule]:
        found = self.recurring.values()
        return [each for each in found if each.next_at is not None and each.next_at <= self.time]

    async def unserved(self, term: int, after: float) -> int:
        self._call("unserved")
        raised, self.unserved_kinds = self.unserved_kinds, 0
        for _ in range(raised):
            self.raise_alert("unserved")
        return raised

    async def undelivered_alerts(self, limit: int) -> list[Alert]:
        self._call("undelivered_alerts")
        return self._due_alerts()[:limit]

    async def alert_delivered(self, number: int) -> None:
        self._call("alert_delivered")
        self.alerts[number] = msgspec.structs.replace(self.alerts[number], delivered_at=self.time)

    async def alert_refused(self, number: int, next_try: float) -> None:
        self._call("alert_refused")
        alert = self.alerts[number]
        self.alerts[number] = msgspec.structs.replace(alert, tries=alert.tries + 1)
        self.next_tries[number] = next_try

    async def purge(self, term: int, before: float, limit: int) -> int:
        self._call("purge")
        old = [at for at in self.ended_at if at < before][:limit]
        self.ended_at = [at for at in self.ended_at if at not in old]
        return len(old)

    def raise_alert(self, kind: str) -> int:
        number = len(self.alerts) + 1
        self.alerts[number] = Alert(number=number, at=self.time, kind=kind, message=f"alert {number}")
        return number

    def delivered(self) -> list[int]:
        return [number for number, alert in self.alerts.items() if alert.delivered_at is not None]

    def _due_alerts(self) -> list[Alert]:
        return [
            alert
            for number, alert in self.alerts.items()
            if alert.delivered_at is None and self.next_tries.get(number, 0) <= self.time
        ]

    def _call(self, verb: str) -> None:
        self.calls.append(verb)
        if verb in self.failing:
            raise StoreUnavailable(f"{verb}: expected a store, found none; start it")


def step(number: int) -> ExpiredStep:
    return ExpiredStep(
        task=f"uid-{number}",
        task_id=f"order-{number}",
        run=1,
        key="payments.charge/1",
        attempt=1,
        failure_count=0,
        kind="operation",
        complete_by=990.0,
        task_state=TaskState.PROCESSING,
        workflow="order",
        version="1",
        policy=None,
        error=None,
    )


def task(number: int, state: TaskState = TaskState.PROCESSING) -> ExpiredTask:
    return ExpiredTask(task=f"uid-{number}", task_id=f"order-{number}", state=state, complete_by=990.0, policy=None)


def instance(id: str) -> Instance:
    return Instance(id=id, role=Role.SCHEDULER, host="h", pid=1, serves=[])
