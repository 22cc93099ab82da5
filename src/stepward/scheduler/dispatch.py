"""What leaves the Scheduler once a turn is committed: requests to Agents, local steps, revocations."""

from __future__ import annotations

from collections.abc import Callable

from stepward.clock import Environment
from stepward.errors import TransportError
from stepward.events import Observers
from stepward.model.messages import Request, reply_queue, request_queue
from stepward.model.records import Step
from stepward.model.states import StepKind, StepState
from stepward.scheduler import steps as rows
from stepward.scheduler.agenda import Agenda
from stepward.scheduler.local import LocalSteps
from stepward.scheduler.resident import Resident
from stepward.transport.contract import Transport

BESIDE = frozenset({StepKind.LOCAL, StepKind.TRANSACTION})


class Dispatcher:
    """Holds back what the turn started until it is durable: intent before effect."""

    def __init__(
        self,
        transport: Transport,
        local: LocalSteps,
        agenda: Agenda,
        environment: Environment,
        observers: Observers,
        instance: str,
    ) -> None:
        self._transport = transport
        self._local = local
        self._agenda = agenda
        self._environment = environment
        self._observers = observers
        self._reply_to = reply_queue(instance)
        self._started: list[tuple[Resident, Step]] = []
        self._sealed: list[tuple[Resident, Step]] = []
        self._revoked: list[Step] = []

    def start(self, resident: Resident, step: Step) -> None:
        """Have the running step leave after the commit."""
        self._started.append((resident, step))

    def revoke(self, steps: list[Step]) -> None:
        """Tell the Agents of these steps, after the commit, that nobody waits any more."""
        self._revoked += steps

    def seal(self) -> None:
        """What was started so far belongs to the commit that follows; what starts later waits for its own."""
        self._sealed += self._started
        self._started = []

    async def send(self, now: float, holds: Callable[[Resident], bool]) -> None:
        """Let out what was sealed for residents whose change is committed and who are still held."""
        started, self._sealed = self._sealed, []
        requests: dict[str, list[Request]] = {}
        for resident, step in started:
            if step.state is not StepState.RUNNING or not holds(resident):
                continue
            request = rows.request(resident.task, step, self._reply_to)
            if step.kind is StepKind.UNDO:
                request = rows.undo_request(request, resident.steps)
            if step.kind in BESIDE:
                self._begin_local(resident, step, request)
            else:
                requests.setdefault(request.agent, []).append(request)
                resident.sent[(step.run, step.key)] = step.attempt
            self._agenda.sent(now, step.task, (step.run, step.key), step.attempt)
        if requests or self._revoked:
            await self._publish(requests)

    async def _publish(self, requests: dict[str, list[Request]]) -> None:
        self._environment.failpoint("W4.before")
        revoked, self._revoked = self._revoked, []
        try:
            for agent, batch in requests.items():
                await self._transport.publish(request_queue(agent), batch)
            for step in revoked:
                if step.agent is not None:
                    await self._transport.revoke(request_queue(step.agent), step.task, step.run, step.key)
        except TransportError as error:
            # The running rows are the outbox: the Supervisor has what was not sent repeated.
            self._observers.tell("scheduler.publish_failed", error=str(error), requests=len(requests))
        self._environment.failpoint("W4.after")

    def _begin_local(self, resident: Resident, step: Step, request: Request) -> None:
        execution = resident.execution
        action = execution.pending_action(step.key) if execution is not None else None
        if action is not None:
            self._local.start(step, request, action)
