"""Local steps, run beside the Scheduler: plain ones answer like an Agent, transactional ones commit their outcome."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

from stepward.clock import Environment
from stepward.errors import InvalidArguments, InvalidPayload, PayloadTooLarge, Unrecoverable
from stepward.model import answers
from stepward.model.action import Action
from stepward.model.containment import contained
from stepward.model.current import CURRENT, CurrentStep
from stepward.model.messages import Reply, Request
from stepward.model.records import Step
from stepward.model.states import StepKind, StepState
from stepward.payload import encode
from stepward.store.contract import Finish, SchedulerStore
from stepward.threads import Threads

Answer = Callable[[Reply, float | None], None]
"""Told the reply, and since when its outcome is committed already, if it is."""
Attempt = tuple[str, int, str, int]
REFUSED = (Unrecoverable, InvalidArguments, InvalidPayload, PayloadTooLarge)
LAST_WAIT = 1.0
"""Seconds for cancelled steps to end in."""


class StepSuperseded(Exception):
    """The attempt is no longer the step's: its transaction is rolled back and nothing is said."""


class LocalSteps:
    """Performs local steps under their deadlines; past the complete-by one stops, and if it is plain says nothing."""

    def __init__(
        self,
        store: SchedulerStore,
        environment: Environment,
        answer: Answer,
        *,
        instance: str,
        payload_bytes: int,
        threads: Threads | None,
    ) -> None:
        self._store = store
        self._environment = environment
        self._answer = answer
        self._instance = instance
        self._payload_bytes = payload_bytes
        self._threads = threads
        self._running: dict[Attempt, asyncio.Task[None]] = {}

    def start(self, step: Step, request: Request, action: Action[Any, Any]) -> None:
        """Begin a running step; an attempt that is under way is not begun again."""
        if self.is_running(step):
            return
        attempt = _attempt(step)
        performing = asyncio.get_running_loop().create_task(self._perform(step, request, action))
        self._running[attempt] = performing
        performing.add_done_callback(lambda _: self._running.pop(attempt))

    def is_running(self, step: Step) -> bool:
        """Whether that attempt is under way; its answer comes, whoever remembers the task by then."""
        return _attempt(step) in self._running

    async def stop(self) -> None:
        """Cancel what still runs; its attempts are taken over like those of a dead process."""
        running = list(self._running.values())
        for task in running:
            task.cancel()
        if running:
            # Nothing waits for ever for a function that will not be cancelled, nor for a thread.
            await asyncio.wait(running, timeout=LAST_WAIT)
        if self._threads is not None:
            self._threads.close()

    async def _perform(self, step: Step, request: Request, action: Action[Any, Any]) -> None:
        CURRENT.set(CurrentStep(request, self._store.now, lambda request, progress: None))
        remaining = request.complete_by - self._store.now()
        if remaining <= 0:
            return
        committed_at: float | None = None
        try:
            async with asyncio.timeout(remaining):
                if step.kind is StepKind.TRANSACTION:
                    output, committed_at = await self._in_transaction(request, action)
                else:
                    output = await self._call(request, action, *_arguments(request, action))
                    output = encode(output, f"result of {action.name}", limit=self._payload_bytes)
        except (TimeoutError, StepSuperseded):
            # Past it the Supervisor decides; but a transaction may have committed, and then it is never asked.
            if step.kind is StepKind.TRANSACTION or self._store.now() < request.complete_by:
                self._answer(answers.gave_up(request, TimeoutError("timed out"), maybe_done=True), None)
        except REFUSED as error:
            self._answer(answers.failed(request, error, maybe_done=_maybe_done(error)), None)
        except Exception as error:
            self._answer(answers.gave_up(request, error, maybe_done=True), None)
        else:
            self._answer(answers.completed(request, output), committed_at)

    async def _in_transaction(self, request: Request, action: Action[Any, Any]) -> tuple[bytes, float]:
        async with self._store.transaction() as transaction:
            args, kwargs = _arguments(request, action)
            result = await self._call(request, action, (transaction, *args), kwargs)
            output = encode(result, f"result of {action.name}", limit=self._payload_bytes)
            finish = Finish(
                task=request.task,
                run=request.run,
                key=request.key,
                attempt=request.attempt,
                state=StepState.COMPLETED,
                output=output,
                error=None,
                in_doubt=False,
                ordinal=None,
                finished_at=self._store.now(),
            )
            if not await transaction.finish(self._instance, finish):
                raise StepSuperseded
        self._environment.failpoint("T.after")
        return output, finish.finished_at

    async def _call(
        self, request: Request, action: Action[Any, Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        def call() -> Any:
            """Call the function, unless this process was asleep until the complete-by."""
            if self._store.now() >= request.complete_by:
                raise TimeoutError
            with contained:
                return action.fn(*args, **kwargs)

        is_plain = action.kind is not StepKind.TRANSACTION and not inspect.iscoroutinefunction(action.fn)
        if is_plain and self._threads is not None:
            return await asyncio.wrap_future(self._threads.start(call))
        result = call()
        with contained:
            return await result if inspect.isawaitable(result) else result


def _attempt(step: Step) -> Attempt:
    return step.task, step.run, step.key, step.attempt


def _arguments(request: Request, action: Action[Any, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return action.signature.unpack(request.input)


def _maybe_done(error: Exception) -> bool:
    """Whether the step may have acted: one that refused says so itself, one whose result is no JSON has acted."""
    return error.maybe_done if isinstance(error, Unrecoverable) else isinstance(error, InvalidPayload | PayloadTooLarge)
