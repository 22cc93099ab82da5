"""What leaves the Scheduler once a turn is committed: requests to Agents, local steps, revocations."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Container, Mapping, Sequence

from stepward.clock import Environment
from stepward.events import Observers
from stepward.model.effects import is_deferred
from stepward.model.messages.requests import Request, reply_queue, request_queue
from stepward.model.records import Step
from stepward.model.states import StepKind, StepState
from stepward.scheduler.dispatch.local_steps import LocalSteps
from stepward.scheduler.dispatch.publisher import Fate, Publisher
from stepward.scheduler.tasks import step_rows as rows
from stepward.scheduler.tasks.active_task import ActiveTask, StepId
from stepward.scheduler.tasks.timers import TaskTimers
from stepward.transport.contract import Transport

BESIDE = frozenset({StepKind.LOCAL, StepKind.TRANSACTION})
ASKED = frozenset({StepKind.OPERATION, StepKind.UNDO})
AGENTS = request_queue("")
AGAIN_AFTER = 0.2
"""Seconds in which losses are gathered, so that what several queues lost is asked for once."""


class Dispatcher:
    """Holds back what the turn started until it is durable: intent before effect.

    ``held`` gives the tasks in memory, ``is_coming`` says whether one that is not there is being read anew.
    """

    def __init__(
        self,
        transport: Transport,
        local: LocalSteps,
        agenda: TaskTimers,
        environment: Environment,
        observers: Observers,
        instance: str,
        *,
        now: Callable[[], float],
        held: Callable[[], Mapping[str, ActiveTask]],
        is_coming: Callable[[str], bool],
        changed: Callable[[], None],
    ) -> None:
        self._local = local
        self._agenda = agenda
        self._observers = observers
        self._reply_to = reply_queue(instance)
        self._now = now
        self._held = held
        self._is_coming = is_coming
        self._publisher = Publisher(
            transport, environment, observers, over=self._left, fate=self._fate, changed=changed
        )
        self._started: list[tuple[ActiveTask, Step]] = []
        self._sealed: list[tuple[ActiveTask, Step]] = []
        self._revoked: list[Step] = []
        self._lost: set[str | None] = set()
        self._lost_at: dict[str | None, float] = {}
        """When a queue last lost messages, or all did."""
        self._asking: asyncio.TimerHandle | None = None
        self._hear_no_more = transport.on_lost(self._lose)

    @property
    def unreached(self) -> frozenset[str]:
        """The Agents to which nothing gets through; what is started for them only waits."""
        return self._publisher.unreached

    @property
    def is_sending(self) -> bool:
        """Whether requests are on their way to Agents that are reached."""
        return self._publisher.is_sending

    def is_beside(self, step: Step) -> bool:
        """Whether that attempt of a local step is under way, for whoever remembered the task before."""
        return self._local.is_running(step)

    def was_lost(self, step: Step, within: float) -> bool:
        """Whether the step's queue has lost messages since it started, no longer than ``within`` seconds ago."""
        instants = (self._lost_at.get(None), self._lost_at.get(request_queue(step.agent or "")))
        lost_at = max((instant for instant in instants if instant is not None), default=None)
        return lost_at is not None and (step.started_at or 0.0) <= lost_at and self._now() - lost_at <= within

    def start(self, active: ActiveTask, step: Step) -> None:
        """Have the running step leave after the commit."""
        self._started.append((active, step))

    def revoke(self, steps: list[Step]) -> None:
        """Tell the Agents of these steps, after the commit, that nobody waits any more."""
        self._revoked += steps

    def seal(self) -> None:
        """What was started so far belongs to the commit that follows; what starts later waits for its own."""
        self._sealed += self._started
        self._started = []

    def send(self) -> None:
        """Let out what was sealed for residents whose change is committed and who are still held."""
        self._publisher.check()
        started, self._sealed = self._sealed, []
        tasks = self._held()
        requests: dict[str, list[Request]] = {}
        for active, step in started:
            is_held = tasks.get(step.task) is active and not active.leaving
            # An owner that has just taken over may hear before it asks that the Agent has done its part.
            if step.state is not StepState.RUNNING or step.deferred_at is not None or not is_held:
                continue
            try:
                request = self._request(active, step)
            except LookupError:
                # A record that is not whole costs its own task an attempt, and no other task anything.
                self._agenda.sent(self._now(), step.task, (step.run, step.key), step.attempt)
                continue
            if step.kind in BESIDE:
                self._begin_local(active, step, request)
                self._left([request])
            else:
                requests.setdefault(request.agent, []).append(request)
                active.sent[(step.run, step.key)] = step.attempt
        for agent, batch in requests.items():
            self._publisher.put(agent, batch)
        if self._revoked:
            revoked, self._revoked = self._revoked, []
            for step in revoked:
                self._publisher.revoke(step)

    async def stop(self) -> None:
        """Send nothing more."""
        self._hear_no_more()
        if self._asking is not None:
            self._asking.cancel()
        await self._publisher.stop()

    def _request(self, active: ActiveTask, step: Step) -> Request:
        request = rows.request(active.task, step, self._reply_to)
        return rows.undo_request(request, active.ordered().undone_by(step)) if step.kind is StepKind.UNDO else request

    def _left(self, requests: Sequence[Request]) -> None:
        """An attempt is shown to the Supervisor once its request is out, or too late to leave."""
        now = self._now()
        for request in requests:
            self._agenda.sent(now, request.task, (request.run, request.key), request.attempt)

    def _fate(self, request: Request) -> Fate:
        if request.complete_by <= self._now():
            return Fate.LAPSE
        active = self._held().get(request.task)
        if active is None:
            return Fate.WAIT if self._is_coming(request.task) else Fate.LAPSE
        if active.leaving:
            return Fate.WAIT
        step = active.open.get((request.run, request.key))
        if step is None or is_deferred(step):
            # It did arrive, and its Agent has done its part.
            return Fate.LAPSE
        is_wanted = step.state is StepState.RUNNING and step.attempt == request.attempt
        return Fate.LEAVE if is_wanted else Fate.LAPSE

    def _lose(self, queue: str | None) -> None:
        """Messages are lost: those of a queue, or all."""
        lost = None if queue == self._reply_to else queue
        self._lost.add(lost)
        if lost is None or lost.startswith(AGENTS):
            self._lost_at[lost] = self._now()
        if self._asking is None:
            self._asking = asyncio.get_running_loop().call_later(AGAIN_AFTER, self._ask_again)

    def _ask_again(self) -> None:
        """The running rows are the outbox: what may be lost is asked for once more, the same attempt."""
        self._asking = None
        lost, self._lost = self._lost, set()
        # What is not committed yet leaves after its commit.
        early = {id(step) for _, step in (*self._started, *self._sealed)}
        waiting: dict[str, Container[tuple[str, StepId]]] = {}
        requests: dict[str, list[Request]] = {}
        for active in self._held().values():
            for step in () if active.leaving else active.open.values():
                agent = step.agent
                if agent is None or id(step) in early or not self._is_out(step, lost):
                    continue
                if agent not in waiting:
                    waiting[agent] = {(each.task, (each.run, each.key)) for each in self._publisher.waiting(agent)}
                if (step.task, (step.run, step.key)) not in waiting[agent]:
                    requests.setdefault(agent, []).append(self._request(active, step))
        for agent, batch in requests.items():
            self._observers.tell("scheduler.asked_again", agent=agent, requests=len(batch))
            self._publisher.put(agent, batch)

    def _is_out(self, step: Step, lost: set[str | None]) -> bool:
        """Whether the step's request was with the broker, and may be lost."""
        if step.state is not StepState.RUNNING or step.kind not in ASKED or step.deferred_at is not None:
            return False
        if (step.complete_by or 0.0) <= self._now():
            return False
        return None in lost or request_queue(step.agent or "") in lost

    def _begin_local(self, active: ActiveTask, step: Step, request: Request) -> None:
        execution = active.execution
        action = execution.pending_action(step.key) if execution is not None else None
        # An attempt that was under way may have been answered since its task was read anew.
        if action is not None and active.open.get((step.run, step.key)) is step:
            self._local.start(step, request, action)
