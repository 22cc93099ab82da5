"""Steps that a turn starts: held back until its commit, and then let out."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from stepward.errors import TransportError
from stepward.model.effects import is_deferred
from stepward.model.messages.requests import Request, request_for, request_queue
from stepward.model.records import Step
from stepward.model.states import RUNNING, UNDO
from stepward.scheduler.admission.windows import Windows
from stepward.scheduler.context import SchedulerContext
from stepward.scheduler.dispatch.local_steps import BESIDE, LocalSteps
from stepward.scheduler.dispatch.publisher import Fate, Publisher
from stepward.scheduler.tasks import step_rows as rows
from stepward.scheduler.tasks.active_task import ActiveTask
from stepward.scheduler.tasks.task_cache import ActiveTasks
from stepward.store.contract import Dispatch
from stepward.transport.memory.direct_queues import DirectQueues, direct_queues
from stepward.transport.store.messages_in_transaction import joint_commits

Started = tuple[ActiveTask, Step]
Enclosed = Mapping[int, Request]
"""Requests that a turn's commit writes, by the identities of their steps."""
NONE_ENCLOSED: Enclosed = MappingProxyType({})


class StepStarts:
    """Holds back what a turn starts until it is durable: intent before effect."""

    def __init__(self, windows: Windows) -> None:
        self._windows = windows
        self._started: list[Started] = []
        self._committing: list[Started] = []

    def ask(self, active: ActiveTask, step: Step, now: float) -> None:
        """Begin an attempt if there is room, or let the step wait for it in the backlog."""
        if self._windows.take(step, active.task.priority):
            self.launch(active, step, now)
        else:
            self._windows.wait(step, active.task.priority, active.task.fairness_key, now)

    def launch(self, active: ActiveTask, step: Step, now: float) -> None:
        """Begin the next attempt of a step that has a row and a place in its Agent's window."""
        active.start(step, now)
        if not active.fresh or (step.run, step.key) not in active.fresh:
            active.changed().dispatch(Dispatch(step.task, step.run, step.key, step.attempt, now, step.complete_by))
        self._started.append((active, step))

    def resume(self, active: ActiveTask, step: Step) -> None:
        """Have an attempt that runs already leave (again) after the commit."""
        self._started.append((active, step))

    def begin_commit(self) -> list[Started]:
        """The steps started so far, whose commit begins; steps that start meanwhile wait for their own commit."""
        self._committing, self._started = self._started, []
        return self._committing

    def end_commit(self) -> None:
        """Their commit is over."""
        self._committing = []

    def uncommitted(self) -> set[int]:
        """The identities of the steps that have not left yet, for they are not durable."""
        return {id(step) for _, step in (*self._started, *self._committing)}


class RequestFates:
    """Judges requests that are with the publisher by the tasks in memory."""

    def __init__(self, active_tasks: ActiveTasks, now: Callable[[], float]) -> None:
        self._active_tasks = active_tasks
        self._timers = active_tasks.timers
        self._now = now

    def left(self, requests: Sequence[Request]) -> None:
        """An attempt is shown to the Supervisor once its request is out, or too late to leave."""
        self._timers.sent_all(self._now(), requests)

    def of(self, request: Request) -> Fate:
        """Whether the request may leave, waits for its task to be read again, or is wanted no more."""
        if request.complete_by <= self._now():
            return Fate.LAPSE
        active = self._active_tasks.tasks.get(request.task)
        if active is None:
            return Fate.WAIT if request.task in self._active_tasks.reloads else Fate.LAPSE
        if active.leaving:
            return Fate.WAIT
        step = active.open.get((request.run, request.key))
        if step is None or is_deferred(step):
            # It did arrive, and its Agent has done its part.
            return Fate.LAPSE
        is_wanted = step.state is RUNNING and step.attempt == request.attempt
        return Fate.LEAVE if is_wanted else Fate.LAPSE


class Dispatcher:
    """Lets out what a turn has started and given up, after its commit."""

    def __init__(
        self,
        context: SchedulerContext,
        publisher: Publisher,
        local: LocalSteps,
        fates: RequestFates,
        active_tasks: ActiveTasks,
    ) -> None:
        self._publisher = publisher
        self._joint = joint_commits(context.transport)
        """Writes requests with the change that starts their step; None where the queues are not in the store."""
        self._queues = direct_queues(context.transport)
        """Those of this process; None where the queues are elsewhere."""
        self._failpoint = context.environment.failpoint
        self._local = local
        self._fates = fates
        self._active_tasks = active_tasks
        self._timers = active_tasks.timers
        self._reply_to = context.reply_to
        self._now = context.store.now

    @property
    def is_sending(self) -> bool:
        """Whether requests are on their way to Agents that are reached."""
        return self._publisher.is_sending

    def enclose(self, started: Sequence[Started]) -> Enclosed:
        """Add the requests of these steps to the changes that start them, if the queues are in the same store."""
        if self._joint is None:
            return NONE_ENCLOSED
        enclosed: dict[int, Request] = {}
        tasks = self._active_tasks.tasks
        for active, step in started:
            is_to_leave = step.state is RUNNING and step.deferred_at is None and step.kind not in BESIDE
            if active.change is None or active.leaving or not is_to_leave or tasks.get(step.task) is not active:
                continue
            with contextlib.suppress(LookupError):
                request = request_of(active, step, self._reply_to)
                rows = self._joint.rows(request_queue(request.agent), [request])
                active.change.requests = [*active.change.requests, *rows]
                enclosed[id(step)] = request
        return enclosed

    def send(self, started: Sequence[Started], revoked: Sequence[Step], enclosed: Enclosed) -> None:
        """Let out what was started for tasks whose change is committed and that are still held; revoke the rest.

        The requests in ``enclosed`` were committed with it.
        """
        if self._publisher.broken is not None:
            raise self._publisher.broken
        requests: dict[str, list[Request]] = {}
        left: list[Request] = []
        tasks = self._active_tasks.tasks
        for active, step in started:
            is_held = tasks.get(step.task) is active and not active.leaving
            # After a takeover the Agent's reply may come before the request was sent again.
            if step.state is not RUNNING or step.deferred_at is not None or not is_held:
                continue
            if (written := enclosed.get(id(step))) is not None:
                active.sent = active.sent or {}
                active.sent[(step.run, step.key)] = step.attempt
                left.append(written)
                continue
            try:
                request = request_of(active, step, self._reply_to)
            except LookupError:
                # A record that is not whole costs its own task an attempt, and no other task anything.
                self._timers.sent(self._now(), step.task, (step.run, step.key), step.attempt)
                continue
            if step.kind in BESIDE:
                self._begin_local(active, step, request)
                self._fates.left([request])
            else:
                requests.setdefault(request.agent, []).append(request)
                active.sent = active.sent or {}
                active.sent[(step.run, step.key)] = step.attempt
        if left and self._joint is not None:
            self._fates.left(left)
            self._joint.wake()
        for agent, batch in requests.items():
            self._leave(agent, batch)
        for step in revoked:
            self._publisher.revoke(step)

    async def stop(self) -> None:
        """Send nothing more."""
        await self._publisher.stop()

    def _leave(self, agent: str, requests: Sequence[Request]) -> None:
        # A busy publisher has requests or revocations for the Agent, and these come behind them.
        if self._queues is None or agent in self._publisher.busy or not self._put(self._queues, agent, requests):
            self._publisher.put(agent, requests)

    def _put(self, queues: DirectQueues, agent: str, requests: Sequence[Request]) -> bool:
        """Put these into a queue of this process; False if it is closed, which is the publisher's to report."""
        self._failpoint("requests.publish.before")
        try:
            queues[request_queue(agent)].append(requests)
        except TransportError:
            return False
        self._fates.left(requests)
        self._failpoint("requests.publish.after")
        return True

    def _begin_local(self, active: ActiveTask, step: Step, request: Request) -> None:
        execution = active.execution
        action = execution.pending_action(step.key) if execution is not None else None
        # An attempt that was under way may have been answered since its task was read again.
        if action is not None and active.open.get((step.run, step.key)) is step:
            self._local.start(step, request, action)


def request_of(active: ActiveTask, step: Step, reply_to: str) -> Request:
    """What an Agent is asked for the step; raises LookupError for an undo whose step is not in the record."""
    request = request_for(active.task, step, reply_to)
    return rows.undo_request(request, active.ordered().undone_by(step)) if step.kind is UNDO else request
