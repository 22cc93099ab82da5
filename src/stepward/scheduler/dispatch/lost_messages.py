"""Messages that a transport has lost: what may be among them is asked for again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Container

from stepward.events import Observers
from stepward.model.messages.requests import Request, request_queue
from stepward.model.records import Step
from stepward.model.states import StepKind, StepState
from stepward.scheduler.dispatch.dispatcher import StepStarts, request_of
from stepward.scheduler.dispatch.publisher import Publisher
from stepward.scheduler.tasks.active_task import StepId
from stepward.scheduler.tasks.task_cache import ActiveTasks
from stepward.transport.contract import Transport

ASKED = frozenset({StepKind.OPERATION, StepKind.UNDO})
AGENTS = request_queue("")
AGAIN_AFTER = 0.2
"""Seconds in which losses are gathered, so that what several queues lost is asked for once."""


class LostMessages:
    """Remembers which queues lost messages and when, and sends again what is out and unanswered."""

    def __init__(
        self,
        transport: Transport,
        publisher: Publisher,
        active_tasks: ActiveTasks,
        starts: StepStarts,
        reply_to: str,
        now: Callable[[], float],
        observers: Observers,
    ) -> None:
        self._publisher = publisher
        self._active_tasks = active_tasks
        self._starts = starts
        self._reply_to = reply_to
        self._now = now
        self._observers = observers
        self._lost: set[str | None] = set()
        self._lost_at: dict[str | None, float] = {}
        """When a queue last lost messages, or all did."""
        self._asking: asyncio.TimerHandle | None = None
        self._hear_no_more = transport.on_lost(self._lose)

    def was_lost(self, step: Step, within: float) -> bool:
        """Whether the step's queue has lost messages since it started, no longer than ``within`` seconds ago."""
        instants = (self._lost_at.get(None), self._lost_at.get(request_queue(step.agent or "")))
        lost_at = max((instant for instant in instants if instant is not None), default=None)
        return lost_at is not None and (step.started_at or 0.0) <= lost_at and self._now() - lost_at <= within

    def stop(self) -> None:
        """Ask for nothing more."""
        self._hear_no_more()
        if self._asking is not None:
            self._asking.cancel()

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
        early = self._starts.uncommitted()
        waiting: dict[str, Container[tuple[str, StepId]]] = {}
        requests: dict[str, list[Request]] = {}
        for active in self._active_tasks.tasks.values():
            for step in () if active.leaving else active.open.values():
                agent = step.agent
                if agent is None or id(step) in early or not self._is_out(step, lost):
                    continue
                if agent not in waiting:
                    waiting[agent] = {(each.task, (each.run, each.key)) for each in self._publisher.waiting(agent)}
                if (step.task, (step.run, step.key)) not in waiting[agent]:
                    requests.setdefault(agent, []).append(request_of(active, step, self._reply_to))
        for agent, batch in requests.items():
            self._observers.emit("scheduler.asked_again", agent=agent, requests=len(batch))
            self._publisher.put(agent, batch)

    def _is_out(self, step: Step, lost: set[str | None]) -> bool:
        """Whether the step's request was with the broker, and may be lost."""
        if step.state is not StepState.RUNNING or step.kind not in ASKED or step.deferred_at is not None:
            return False
        if (step.complete_by or 0.0) <= self._now():
            return False
        return None in lost or request_queue(step.agent or "") in lost
