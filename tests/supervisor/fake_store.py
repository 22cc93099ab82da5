"""A Supervisor's store in memory: rows are lists, the test sets the clock, calls are on record."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from stepward.errors import StoreUnavailable
from stepward.model.alerts.alert_routing import AlertProgress, AlertReceipt, ReportedSink
from stepward.model.alerts.silences import AlertSilence
from stepward.model.records import Alert, Audit, InboxRow, Instance, Role, Step, Task
from stepward.model.schedule import Schedule
from stepward.model.states import TaskState
from stepward.store.contract import (
    AuditedAct,
    Batch,
    BatchPiece,
    Decision,
    Due,
    ErasedTask,
    ExpiredStep,
    ExpiredTask,
    Firing,
    OldRecords,
    Outlived,
    OutlivedPage,
    Post,
    Purged,
    SignalSeen,
    Standby,
    StreamRow,
    TaskExpiry,
    UpdateRow,
    WrittenRow,
)
from stepward.store.contract.values.early_warnings import KeptWarnings, WarningFigures
from stepward.store.search.conditions import Condition
from stepward.store.search.statements import TaskKey
from tests.supervisor.fake_webhooks import FakeWebhooks


class FakeStore(FakeWebhooks):
    """Implements ``SupervisorStore``; verbs that prove a term change nothing under another."""

    def __init__(self) -> None:
        super().__init__()
        self.time = 1000.0
        self.jump = 0.0
        """How far another server's clock is ahead that answers from the next ``due`` on."""
        self.set_by = 0.0
        """Seconds by which the server's clock was set, seen from the next ``due`` on."""
        self._jumped = 0.0
        self.calls: list[str] = []
        self.failing: set[str] = set()
        self.term: int | None = 1
        self.valid_term = 1
        self.dead: list[Instance] = []
        self.held = 0
        self.batches: list[Batch] = []
        self.steps: list[ExpiredStep] = []
        self.tasks: list[ExpiredTask] = []
        self.unserved_kinds = 0
        self.alerts: dict[int, Alert] = {}
        self.next_tries: dict[int, float] = {}
        self.sinks: list[ReportedSink] = []
        self.signs = WarningFigures()
        self.late: list[Instance] = []
        self.silences: list[AlertSilence] = []
        self.receipts: dict[tuple[int, str], AlertReceipt] = {}
        self.ended_at: list[float] = []
        self.acts: list[AuditedAct] = []
        self.left = 0
        """How many deletions it takes to be done with what was deleted."""
        self.decisions: list[Decision] = []
        self.expiries: list[tuple[Post, Audit]] = []
        self.graces: list[float] = []
        self.grace_left = 0
        self.attached: list[Standby] | None = None
        self.serving: list[Instance] = []
        self.recurring: dict[str, Schedule] = {}
        self.fired: list[Task] = []
        self.unfired: dict[str, Exception] = {}
        """By schedule, the error of each batch that it is in."""

    def now(self) -> float:
        return self.time

    def jumped(self) -> float:
        return self._jumped

    async def lead(self, instance: str, lease: float) -> int | None:
        self._call("lead")
        self.lead_lease = lease
        return self.term

    async def due(self) -> Due:
        self._call("due")
        self.time, self.jump = self.time + self.jump + self.set_by, 0.0
        self._jumped, self.set_by = self._jumped + self.set_by, 0.0
        return Due(
            dead_instances=len(self.dead),
            free_tasks=self.held,
            steps=len(self.steps),
            tasks=len(self.tasks),
            unserved=self.unserved_kinds,
            alerts=len(self._due_alerts()),
            schedules=len(self._due_schedules()),
            batches=len(self.batches),
            grace=self.grace_left > 0,
        )

    async def release_slots(self, term: int) -> int:
        self._call("release_slots")
        return 0

    async def forgive(self, term: int, grace: float) -> bool:
        self._call("forgive")
        self.graces.append(grace)
        return term == self.valid_term

    async def go_on_forgiving(self, term: int) -> int:
        self._call("go_on_forgiving")
        self.grace_left -= bool(self.grace_left)
        return self.grace_left

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

    async def expire_tasks(self, term: int, expiries: Sequence[TaskExpiry]) -> list[TaskExpiry]:
        self._call("expire_tasks")
        if term != self.valid_term:
            return []
        expired = {each.task for each in expiries}
        self.tasks = [row for row in self.tasks if row.task not in expired]
        self.expiries += [(each.post, each.audit) for each in expiries]
        return list(expiries)

    async def due_schedules(self, limit: int) -> list[Schedule]:
        self._call("due_schedules")
        return self._due_schedules()[:limit]

    async def fire(self, term: int, firings: Sequence[Firing]) -> list[int | None]:
        self._call("fire")
        for firing in firings:
            if (error := self.unfired.get(firing.schedule.name)) is not None:
                raise error
        return [self._fire(term, *msgspec.structs.astuple(firing)) for firing in firings]

    def _fire(self, term: int, schedule: Schedule, tasks: Sequence[Task], next_at: float | None) -> int | None:
        if term != self.valid_term or self.recurring[schedule.name].next_at != schedule.next_at:
            return None
        self.recurring[schedule.name] = msgspec.structs.replace(schedule, next_at=next_at)
        self.fired.extend(tasks)
        return len(tasks)

    def _due_schedules(self) -> list[Schedule]:
        found = self.recurring.values()
        return [each for each in found if each.next_at is not None and each.next_at <= self.time]

    async def unserved(self, term: int, after: float) -> int:
        self._call("unserved")
        raised, self.unserved_kinds = self.unserved_kinds, 0
        for _ in range(raised):
            self.told("unserved")
        return raised

    async def undelivered_alerts(self, limit: int) -> list[Alert]:
        self._call("undelivered_alerts")
        return self._due_alerts()[:limit]

    async def alert_receipts(self, numbers: Sequence[int]) -> list[AlertReceipt]:
        self._call("alert_receipts")
        return [receipt for (number, _), receipt in self.receipts.items() if number in numbers]

    async def alert_silences(self) -> list[AlertSilence]:
        self._call("alert_silences")
        return self.silences

    async def record_receipts(self, receipts: Sequence[AlertReceipt], progress: Sequence[AlertProgress]) -> None:
        self._call("record_receipts")
        self.receipts |= {(receipt.number, receipt.sink): receipt for receipt in receipts}
        for each in progress:
            alert = self.alerts[each.number]
            if alert.resolved_at != each.resolved_at:
                continue
            delivered_at = self.time if each.next_try is None else None
            tries = alert.tries + each.tried
            self.alerts[each.number] = msgspec.structs.replace(alert, tries=tries, delivered_at=delivered_at)
            self.next_tries[each.number] = each.next_try or self.next_tries.get(each.number, 0.0)

    async def sample_states(self, term: int, kept_since: float) -> bool:
        self._call("sample_states")
        return term == self.term

    async def early_warnings(self, task_share: float, created_before: float) -> WarningFigures:
        self._call("early_warnings")
        return self.signs

    async def late_leases(self, share: float) -> list[Instance]:
        self._call("late_leases")
        return self.late

    async def keep_warnings(
        self, term: int, kinds: Sequence[str], new: Sequence[Alert], lasting: Sequence[Alert]
    ) -> KeptWarnings:
        self._call("keep_warnings")
        open_ = {
            (a.kind, a.details): n for n, a in self.alerts.items() if a.kind in kinds and a.acknowledged_at is None
        }
        wanted = {(alert.kind, alert.details): alert for alert in (*new, *lasting)}
        for key in set(open_) - set(wanted):
            self.resolve(open_[key])
            self.change(open_[key], acknowledged_at=self.time)
        raised = [alert for alert in new if (alert.kind, alert.details) not in open_]
        for alert in raised:
            number = self.told(alert.kind)
            self.alerts[number] = msgspec.structs.replace(alert, number=number, at=self.time)
        return KeptWarnings(len(raised), len(set(open_) - set(wanted)))

    async def report_sinks(self, term: int, sinks: Sequence[ReportedSink]) -> bool:
        self._call("report_sinks")
        self.sinks = list(sinks)
        return term == self.valid_term

    def change(self, number: int, **fields: object) -> None:
        self.alerts[number] = msgspec.structs.replace(self.alerts[number], **fields)

    def resolve(self, number: int) -> None:
        """What the alert reports is over."""
        self.alerts[number] = msgspec.structs.replace(self.alerts[number], resolved_at=self.time, delivered_at=None)
        self.next_tries[number] = self.time

    async def outlived(self, before: float, limit: int) -> list[Outlived]:
        self._call("outlived")
        return [Outlived(f"uid-{at}", at) for at in sorted(self.ended_at) if at < before][:limit]

    async def outlived_where(self, condition: Condition, after: TaskKey | None, limit: int) -> OutlivedPage:
        self._call("outlived_where")
        return OutlivedPage([], None)

    async def outlived_tasks(self, uids: Sequence[str], after: str) -> list[Task]:
        return []

    async def outlived_steps(self, uids: Sequence[str], after: tuple[str, int, int]) -> list[Step]:
        return []

    async def outlived_inbox(self, uids: Sequence[str], after: tuple[str, int]) -> list[InboxRow]:
        return []

    async def outlived_signals(self, uids: Sequence[str], after: tuple[str, str, str]) -> list[SignalSeen]:
        return []

    async def outlived_values(self, uids: Sequence[str], after: tuple[str, str]) -> list[WrittenRow]:
        return []

    async def outlived_streams(self, uids: Sequence[str], after: tuple[str, str, int]) -> list[StreamRow]:
        return []

    async def outlived_updates(self, uids: Sequence[str], after: tuple[str, str]) -> list[UpdateRow]:
        return []

    async def old_records(self, before: float) -> OldRecords:
        return OldRecords([act for act in self.acts if act.audit.at < before], [])

    async def prune(self, term: int, records: OldRecords) -> int:
        self._call("prune")
        if term != self.valid_term:
            return 0
        self.acts = self.acts[len(records.acts) :]
        return len(records.acts)

    async def use_archive(self) -> None:
        self._call("use_archive")

    async def erased_tasks(self, limit: int) -> list[ErasedTask]:
        return []

    async def erase_archived(self, term: int, task: ErasedTask, acts: Sequence[AuditedAct]) -> bool:
        return term == self.valid_term

    async def forget_erased(self, uids: Sequence[str]) -> None:
        self._call("forget_erased")

    async def deleted_owners(self, limit: int) -> list[str]:
        return []

    async def forget_owners(self, uids: Sequence[str]) -> None:
        self._call("forget_owners")

    async def known_owners(self, uids: Sequence[str]) -> set[str]:
        return set(uids)

    async def family(self, uid: str, limit: int) -> list[str]:
        return []

    async def unchanged(self, batch: Sequence[Outlived]) -> bool:
        return {task.finished_at for task in batch} <= set(self.ended_at)

    async def raise_alert(self, term: int, alert: Alert) -> bool:
        self._call("raise_alert")
        if term != self.valid_term or any(
            known.kind == alert.kind and known.acknowledged_at is None for known in self.alerts.values()
        ):
            return False
        number = self.told(alert.kind)
        self.alerts[number] = msgspec.structs.replace(alert, number=number, at=self.time)
        return True

    async def resolve_alert(self, term: int, kind: str) -> bool:
        self._call("resolve_alert")
        open_ = [n for n, alert in self.alerts.items() if alert.kind == kind and alert.acknowledged_at is None]
        for number in open_ if term == self.valid_term else ():
            self.alerts[number] = msgspec.structs.replace(self.alerts[number], acknowledged_at=self.time)
        return bool(open_) and term == self.valid_term

    async def schedulers(self) -> list[Instance]:
        self._call("schedulers")
        return list(self.serving)

    async def standbys(self) -> list[Standby] | None:
        self._call("standbys")
        return self.attached

    async def purge(self, term: int, batch: Sequence[Outlived]) -> Purged:
        self._call("purge")
        if term != self.valid_term:
            return Purged(tasks=0, more=False)
        gone = {task.finished_at for task in batch}
        before = len(self.ended_at)
        self.ended_at = [at for at in self.ended_at if at not in gone]
        self.left = max(0, self.left - 1)
        return Purged(tasks=before - len(self.ended_at), more=self.left > 0)

    def told(self, kind: str) -> int:
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

    async def running_batches(self, limit: int) -> list[Batch]:
        self._call("running_batches")
        return self.batches

    async def advance_batch(self, term: int, batch: Batch) -> BatchPiece | None:
        self._call("advance_batch")
        return None

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
    return ExpiredTask(task=f"uid-{number}", task_id=f"order-{number}", state=state, deadline=990.0, policy=None)


def instance(id: str) -> Instance:
    return Instance(id=id, role=Role.SCHEDULER, host="h", pid=1, serves=[])
