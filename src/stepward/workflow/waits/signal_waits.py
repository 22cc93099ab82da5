"""A run's wait for a signal: until it comes, or a durable timer has fired."""

from __future__ import annotations

import asyncio
from sys import intern

from stepward.durations import text
from stepward.model.states import StepKind
from stepward.model.tasks.updates import described
from stepward.payload import NULL
from stepward.workflow.event_loop.futures import PLAIN, Timer
from stepward.workflow.run_commands import Run
from stepward.workflow.waits.signals import UpdateCheck, Wait


async def wait_for_signal(run: Run, name: str, timeout: float | None, refusal: UpdateCheck | None = None) -> bytes:
    """The payload of the next signal of that name that ``refusal`` does not answer; TimeoutError after ``timeout``
    seconds."""
    future: asyncio.Future[bytes] = PLAIN(loop=run.loop)
    if run.loop.halted:
        await run.stay(future)
    key = _begin(run, name, future, refusal)
    timer = None if timeout is None else run.loop.call_later(timeout, _expire, future, name, timeout)
    try:
        return await future
    finally:
        _stop_waiting(run, key, timer)


def _begin(run: Run, name: str, future: asyncio.Future[bytes], refusal: UpdateCheck | None) -> str:
    """Let the workflow wait, with ``future`` for the payload; the key of the wait."""
    key = run.ledger.next_key(intern(f"signal:{name}"))
    number = run.ledger.ask()
    step = run.recorded(number, StepKind.SIGNAL, key, run.loop.place())
    if step is not None:
        run.meet(step, future, NULL)
    else:
        run.open_signals().add(Wait(key, number, name, future, refusal))
    return key


def _expire(future: asyncio.Future[bytes], name: str, timeout: float) -> None:
    if not future.done():
        kind, _, named = described(name).partition(" ")
        future.set_exception(TimeoutError(f"no {kind} {named!r} within {text(timeout)}"))


def _stop_waiting(run: Run, key: str, timer: Timer | None) -> None:
    if timer is not None:
        timer.cancel()
    if run.signals is not None:
        run.signals.withdraw(key)
