"""What must hold once everything has come to rest: the tasks' words against what the services really did."""

from __future__ import annotations

import json

from simulation.application.services import Account, SimulatedService
from simulation.environment.world import World
from simulation.invariants.replays import Replays
from simulation.invariants.watched_rows import StepRow, TaskRow
from simulation.people.people import People
from simulation.random_programs.programs import SETTLING_NAME
from stepward.model.states import TASK_ENDS, StepKind, TaskState
from stepward.store.contract import ClientStore

BUGS = frozenset({"internal", "change_refused"})
"""Alerts about a task that blame Stepward itself."""
BACK = frozenset({TaskState.UNDONE, TaskState.CANCELLED})
BY_PEOPLE = frozenset({"desk.ask"})
"""Operations that people finish from outside, who may take longer than the step has."""
WITH_UNDO = frozenset({"pay.charge", "ship.send", "mail.post", "lab.act"})


class SeedVerdict:
    """Compares the end of a run with what really happened."""

    def __init__(self, world: World, people: People) -> None:
        self._world = world
        self._mirror = world.mirror
        self._trace = world.trace
        self._people = people
        self._replays = Replays(world)

    async def reach(self, store: ClientStore) -> None:
        """Check everything; what is broken goes to the trace."""
        self._submissions()
        accounts = self._accounts()
        for task in self._mirror.tasks.values():
            self._rest(task)
            if task.state == TaskState.ERROR:
                self._alerted(task)
            elif task.state in BACK:
                self._taken_back(task, accounts.get(task.uid, []))
            elif task.state == TaskState.PROCESSED:
                self._done(task, accounts.get(task.uid, []))
                await self._replay(task, store)
        self._booked()
        await self._world.rules.live_values.check_read(store)
        if not self._trace.faults:
            self._no_more_than_needed()

    def _submissions(self) -> None:
        uids = {task.id: task.uid for task in self._mirror.tasks.values()}
        for id, uid in self._people.accepted.items():
            if uids.get(id) != uid:
                self._trace.violated("S1", f"{id} was accepted as {uid}, the store has {uids.get(id)}")

    def _rest(self, task: TaskRow) -> None:
        if task.state not in TASK_ENDS:
            self._trace.violated("L1", f"task {task.id} never came to an end: {task.state}, waits for {task.waits_for}")
        self._trace.situations[f"a task ended {task.state}"] += 1

    def _alerted(self, task: TaskRow) -> None:
        alerts = [alert for alert in self._mirror.alerts.values() if alert.task == task.uid]
        if not alerts:
            self._trace.violated("S20", f"task {task.id} is in error and nobody was told")
        for alert in alerts:
            if alert.kind in BUGS:
                self._trace.violated("bug", f"task {task.id} is in error: {alert.kind}: {alert.message}")

    def _accounts(self) -> dict[str, list[tuple[StepRow, SimulatedService, Account]]]:
        found: dict[str, list[tuple[StepRow, SimulatedService, Account]]] = {}
        for service in (*self._world.services.values(), self._world.lab):
            for key, account in service.accounts.items():
                known = self._mirror.keys.get(key)
                if known is None:
                    self._trace.violated("S9", f"{service.name} was asked under {key!r}, the key of no step")
                else:
                    # A run that is settled is deleted.
                    step = self._mirror.steps.get(known[:3], known)
                    found.setdefault(step.task, []).append((step, service, account))
        return found

    def _taken_back(self, task: TaskRow, accounts: list[tuple[StepRow, SimulatedService, Account]]) -> None:
        doubted = self._doubted(task)
        for step, service, account in accounts:
            is_settled = task.workflow == SETTLING_NAME and step.run < task.run
            if account.standing <= 0 or step.key in doubted or is_settled:
                continue
            if step.name not in WITH_UNDO:
                if step.state != "completed" and step.output is None and step.kind == StepKind.OPERATION:
                    self._trace.violated(
                        "S12", f"{task.id} is {task.state}; {step.key} acted, has no undo, and nobody was told"
                    )
            elif not service.dedupes and step.state == "failed":
                self._trace.reached("a doubled request acted after its step had failed")
            elif service.dedupes or not self._was_undone(step):
                self._trace.violated(
                    "S12", f"{task.id} is {task.state} and the effect of {step.key} stands ({step.state})"
                )
            else:
                self._trace.reached("a late effect at a service that keeps no tombstones")

    def _was_undone(self, step: StepRow) -> bool:
        """Its own row says so too, which alone is known of a run that is deleted."""
        undo = self._mirror.steps.get((step.task, step.run, step.key + "~undo"))
        return step.state == "undone" or (undo is not None and undo.state == "completed")

    def _done(self, task: TaskRow, accounts: list[tuple[StepRow, SimulatedService, Account]]) -> None:
        for step in self._mirror.steps_of(task.uid):
            if step.state in ("running", "to_repeat", "not_started") and step.run == task.run:
                self._trace.violated("S12", f"{task.id} is processed and {step.key} is {step.state}")
        doubted = self._doubted(task)
        for step, service, account in accounts:
            gone = step.state == "completed" and step.kind == StepKind.OPERATION and account.standing < 1
            by_hand = account.effects == 0 and step.acts_under in self._world.rules.marked
            # An earlier generation's key may have had no effect while the last one had.
            if gone and step.generation == 0 and not by_hand:
                self._trace.violated("S12", f"{task.id} is processed, {step.key} completed, its effect is not there")
            if service.dedupes and account.standing > 0 and self._was_undone(step):
                self._trace.violated("S12", f"{task.id} is processed, {step.key} was undone, and its effect stands")
            lost = (
                step.state == "abandoned" and step.output is None and account.standing > 0 and step.key not in doubted
            )
            if lost and service.dedupes:
                self._trace.violated(
                    "S12", f"{task.id} is processed, {step.key} was abandoned, its effect stands, and nobody was told"
                )

    def _doubted(self, task: TaskRow) -> set[str]:
        """The steps that alerts or the task's own error name as in doubt."""
        named: set[str] = set()
        for alert in self._mirror.alerts.values():
            if alert.task == task.uid:
                named |= set(json.loads(alert.details).get("in_doubt", ()))
                named |= {alert.step} if alert.step and alert.kind == "late_effect_after_undo" else set()
        if task.error is not None:
            named |= set((json.loads(task.error) or {}).get("in_doubt") or ())
        return named

    async def _replay(self, task: TaskRow, store: ClientStore) -> None:
        """S18: the history of a finished task tells its story again."""
        record = await store.task(task.id)
        difference = None if record is None else self._replays.difference(record, await store.steps(task.id))
        if difference is not None:
            self._trace.violated("S18", difference)

    def _booked(self) -> None:
        """The rows of transactional steps stand exactly where the steps were done; an operator's word writes none."""
        rows = self._world.bookings()
        if len(rows) != len(set(rows)):
            self._trace.violated("S5", "a transactional step wrote its rows twice")
        done = {s.acts_under for s in self._mirror.steps.values() if s.name == "booked" and s.state == "completed"}
        if missing := done - set(rows) - self._world.rules.marked:
            self._trace.violated("S12", f"transactional steps completed without their rows: {sorted(missing)[:3]}")

    def _no_more_than_needed(self) -> None:
        """S36: in a world without a fault each step has one attempt, and one call of its service."""
        for step in self._mirror.steps.values():
            if step.attempt > 1 and step.name not in BY_PEOPLE:
                self._trace.violated("S36", f"{step.task}/{step.key} has {step.attempt} attempts, without a fault")
        for service in (*self._world.services.values(), self._world.lab):
            for key, account in service.accounts.items():
                if account.calls > 1:
                    self._trace.violated(
                        "S36", f"{service.name} was called {account.calls} times under {key}, without a fault"
                    )
