"""The Supervisor's pass: one statement finds what is due, the rest runs only if something is.

Several Supervisors may run; one leads by a lease in the store, and every changing statement proves its term: one that
loses leadership in the middle of a pass changes nothing more. It needs no workflow code and no transport.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from stepward.clock import Environment
from stepward.errors import CommitUnknown, StoreUnavailable
from stepward.events import AlertSink, EventReceiver, Observers
from stepward.large_payloads import PayloadKeeper
from stepward.policies import grown
from stepward.settings import Settings
from stepward.store.contract import FREED_AT_ONCE, Decision, Due, ObjectOwnerStore, SupervisorStore
from stepward.supervisor.alert_delivery import AlertDelivery
from stepward.supervisor.archives.folder_archive import Archive, folder_archive
from stepward.supervisor.background_work import Beside
from stepward.supervisor.batch_runner import BatchRunner
from stepward.supervisor.deletions.deletions import Cleaning
from stepward.supervisor.due_schedules import MOST, DueSchedules
from stepward.supervisor.judge import judge, judge_task
from stepward.supervisor.leader_checks import checks_of
from stepward.supervisor.pass_report import PassReport
from stepward.supervisor.retention import Retention
from stepward.supervisor.webhooks.webhook_delivery import WebhookDelivery

BATCH = 250
BATCHES = 40
"""Batches of a pass; while more is left, the next pass begins at once."""
PASSES = 10_000
UNSERVED_AFTER = 30.0
HEARD_WITHIN = 0.5
"""Fraction of a lease: live instances renew at each third, and receive the store's clock with the answer."""


class Supervisor:
    """An instance of the Supervisor; ``turn`` makes one pass, ``once`` as many as are needed.

    ``archive`` replaces the folder that the settings name; ``keeper`` keeps large payloads, whose objects it deletes;
    ``owners`` knows the tasks of all stores whose objects stand there, if there are several; ``down`` gives those that
    are down, by name, with the reason.
    """

    def __init__(
        self,
        store: SupervisorStore,
        *,
        instance: str,
        settings: Settings,
        observers: Observers,
        environment: Environment,
        sinks: Sequence[AlertSink],
        webhooks: Sequence[EventReceiver] = (),
        archive: Archive | None = None,
        keeper: PayloadKeeper | None = None,
        owners: ObjectOwnerStore | None = None,
        down: Callable[[], Mapping[str, str]] = dict,
    ) -> None:
        self._store = store
        self._instance = instance
        self._actor = f"supervisor/{instance}"
        self._settings = settings
        self._observers = observers
        self._failpoint = environment.failpoint
        self._schedules = DueSchedules(store, observers, environment.new_uid, allowed=settings.warn_schedule_late)
        self._batches = BatchRunner(store, observers, environment.failpoint)
        self._delivery = AlertDelivery(store, sinks, observers)
        self._alerts = Beside([self._delivery.run_on], observers, self._actor)
        self._webhook_delivery = WebhookDelivery(store, webhooks, observers, environment, lambda: self._led)
        self._webhooks = Beside(self._webhook_delivery.works, observers, self._actor)
        self._checks = checks_of(store, settings, observers, sinks, self._batches, self._schedules, down)
        self._retention = Retention(
            store,
            settings=settings,
            observers=observers,
            clock=environment.clock,
            archive=archive or folder_archive(settings.archive, instance, keeper),
        )
        self._cleaning = Cleaning(store, keeper, settings.archive, observers, environment, owners)
        self._expected_by: float | None = None
        self._must_forgive = False
        self._jumped = store.jumped()
        self._judges_from = 0.0
        """By then all live instances have renewed their leases by the store's clock as it is since its last jump."""
        self._failures = 0
        self._led = False
        self._hurries = False
        """Whether the next pass is to begin at once."""
        self.acted = False
        """Whether the last pass changed something that other actors of this process should read."""

    @property
    def leads(self) -> bool:
        """Whether this instance led in the last pass; only the leader decides."""
        return self._led

    async def turn(self) -> float:
        """Make one bounded pass; the delay until the next.

        An unavailable store is reported and waited for. Alerts are delivered and old tasks deleted beside the passes:
        neither a slow sink nor a slow disk delays a step.
        """
        self.acted = self._hurries = False
        try:
            self.acted = (await self._pass(in_background=True)).did_something
        except (StoreUnavailable, CommitUnknown) as error:
            # An unknown commit needs no care: each decision is a compare-and-set, and the next pass reads again.
            self._failures += 1
            delay = self._delay_after_failure()
            self._observers.emit("store.unavailable", actor=self._actor, error=str(error), delay=delay)
            return delay
        self._failures = 0
        return 0.0 if self._hurries else self._pause()

    async def once(self) -> PassReport:
        """Make passes until nothing more is due; the sum of their reports. Raises StoreUnavailable."""
        total = await self._pass(in_background=False)
        report = total
        for _ in range(PASSES):
            if not report.did_something:
                break
            report = await self._pass(in_background=False)
            total = total.plus(report)
        return total

    async def close(self) -> None:
        """Stop the delivery of alerts and the deletion; another leader, or the next start, continues."""
        await self._retention.close()
        await self._cleaning.close()
        await self._alerts.close()
        await self._webhooks.close()

    async def _pass(self, *, in_background: bool) -> PassReport:
        self._failpoint("supervisor.pass.before")
        term = await self._store.lead(self._instance, self._lead_lease())
        is_news = self._was_cut_off()
        self._must_forgive |= is_news
        self._emit_leadership(term)
        if term is None:
            # A leader that still leads saw the outage too; whether one does was read before the outage was known.
            self._must_forgive = is_news
            return PassReport()
        if self._must_forgive:
            return await self._forgive(term)
        if self._store.now() < self._judges_from:
            return PassReport(led=True)
        due = await self._store.due()
        # Only this answer may have shown that the clock was set, or that another server has taken over.
        self._must_forgive |= self._was_cut_off()
        if self._must_forgive:
            return await self._forgive(term)
        if due.grace:
            return await self._go_on_forgiving(term)
        report = await self._supervise(term, due, in_background=in_background)
        for check in self._checks:
            await check.look(term)
        report = replace(report, purged=await self._retention.run(term, in_background=in_background))
        await self._cleaning.run(term, in_background=in_background, archives=not self._retention.is_at_work)
        # A long pass is no outage: the store answered throughout.
        self._expect_next()
        return report

    def _lead_lease(self) -> float:
        # Leadership must outlive the pause between two passes.
        return self._settings.lease + self._settings.supervisor_every

    def _was_cut_off(self) -> bool:
        """Whether its clock was set, or the store was unavailable for longer than a lease, so that no instance
        could renew."""
        expected_by = self._expected_by
        self._expect_next()
        if self._has_jumped():
            self._judges_from = self._store.now() + self._settings.lease * HEARD_WITHIN
            return True
        return expected_by is not None and self._store.now() - expected_by > self._settings.lease

    def _has_jumped(self) -> bool:
        before, self._jumped = self._jumped, self._store.jumped()
        return before != self._jumped

    def _expect_next(self) -> None:
        self._expected_by = self._store.now() + self._settings.supervisor_every

    def _emit_leadership(self, term: int | None) -> None:
        if self._led != (term is not None):
            self._led = term is not None
            name = "supervisor.leads" if self._led else "supervisor.deposed"
            self._observers.emit(name, instance=self._instance, term=term)

    async def _forgive(self, term: int) -> PassReport:
        forgave = await self._store.forgive(term, self._settings.lease)
        self._must_forgive = False
        if forgave:
            self._observers.emit("supervisor.forgave", term=term, grace=self._settings.lease)
        return PassReport(led=True, forgave=forgave)

    async def _go_on_forgiving(self, term: int) -> PassReport:
        """Give grace in a few batches; the next pass begins at once, and nothing is judged before all have it."""
        forgiven = await self._in_batches(partial(self._store.go_on_forgiving, term), 1)
        self._hurries = forgiven > 0
        self._observers.emit("supervisor.forgiving", term=term, tasks=forgiven)
        self._expect_next()
        return PassReport(led=True, forgave=True)

    async def _in_batches(self, work: Callable[[], Awaitable[int]], full: int) -> int:
        """Do work until it does less than ``full``; after some batches the next pass goes on, at once."""
        total = 0
        for _ in range(BATCHES):
            count = await work()
            total += count
            if count < full:
                return total
        self._hurries = True
        return total

    async def _supervise(self, term: int, due: Due, *, in_background: bool) -> PassReport:
        fenced = await self._fence(term) if due.dead_instances else 0
        freed = await self._free(term) if due.dead_instances or due.free_tasks else 0
        judged = await self._in_batches(partial(self._judge_steps, term), BATCH) if due.steps else 0
        released = await self._store.release_slots(term) if due.slots else 0
        expired = await self._in_batches(partial(self._judge_tasks, term), BATCH) if due.tasks else 0
        fired = await self._in_batches(partial(self._schedules.fire, term), MOST) if due.schedules else 0
        batched = await self._batches.run(term, due.batches)
        unserved = await self._store.unserved(term, UNSERVED_AFTER) if due.unserved else 0
        delivered, refused = await self._alert(due, unserved, in_background=in_background)
        return PassReport(
            led=True,
            fenced=fenced,
            freed=freed,
            released=released,
            judged=judged,
            expired_tasks=expired,
            fired=fired,
            batched=batched,
            unserved=unserved,
            delivered=delivered,
            refused=refused,
            posted=await self._post(in_background=in_background),
        )

    async def _fence(self, term: int) -> int:
        dead = await self._store.fence(term)
        for instance in dead:
            self._observers.emit("instance.fenced", instance=instance.id, role=instance.role, host=instance.host)
        return len(dead)

    async def _free(self, term: int) -> int:
        freed = await self._in_batches(partial(self._store.free, term, self._settings.recovery_limit), FREED_AT_ONCE)
        if freed:
            self._observers.emit("tasks.freed", count=freed)
        return freed

    async def _judge_steps(self, term: int) -> int:
        now = self._store.now
        steps = await self._store.expired_steps(BATCH)
        return await self._decide(term, [judge(step, now(), actor=self._actor) for step in steps]) if steps else 0

    async def _decide(self, term: int, decisions: list[Decision]) -> int:
        self._failpoint("supervisor.decide.before")
        applied = await self._store.decide(term, decisions)
        self._failpoint("supervisor.decide.after")
        acts = Counter(decision.audit.act for decision in decisions)
        self._observers.emit("steps.judged", applied=applied, **acts)
        return applied

    async def _judge_tasks(self, term: int) -> int:
        tasks = await self._store.expired_tasks(BATCH)
        now = self._store.now()
        verdicts = [verdict for task in tasks if (verdict := judge_task(task, now, actor=self._actor)) is not None]
        expired = await self._store.expire_tasks(term, verdicts) if verdicts else []
        for verdict in expired:
            self._observers.emit("task.expired", task=verdict.task_id, act=verdict.audit.act)
        return len(expired)

    async def _alert(self, due: Due, unserved: int, *, in_background: bool) -> tuple[int, int]:
        if not due.alerts and not unserved:
            return 0, 0
        if not in_background:
            return await self._delivery.run()
        self._alerts.begin()
        return 0, 0

    async def _post(self, *, in_background: bool) -> int:
        return self._webhooks.begin() if in_background else await self._webhook_delivery.run()

    def _pause(self) -> float:
        """Seconds until the next pass; less while batches run."""
        every, pause = self._settings.supervisor_every, self._batches.pause
        return every if pause is None else min(every, pause)

    def _delay_after_failure(self) -> float:
        every = self._settings.supervisor_every
        return grown(every, 2.0, max(every, self._settings.lease), self._failures)
