"""Steps that people finish under simulation: an Agent that hands out completion tokens, and what is done with them."""

from __future__ import annotations

import asyncio
import contextlib
import random
from typing import Any, Protocol

from simulation.invariants.history import Mirror
from simulation.trace import Trace
from stepward.agent.declaration import Agent
from stepward.client import Client, session_of
from stepward.errors import CompletionRefused, Refused, StepFailed, StoreError
from stepward.model.current_step import current_step
from stepward.model.messages.completion_tokens import read_token
from stepward.policies import CircuitBreaker, Retry
from stepward.store.contract import Directive

NO_KEY = b""
"""Enough to read what a token says."""
DELAYS = (0.0, 0.0, 0.3, 1.0, 3.0, 8.0)
"""Seconds until a token is used, beside a complete-by of four."""
AGENT = "desk"


class Surroundings(Protocol):
    """The world of the seed that runs."""

    def called(self, remaining: float, key: str) -> None:
        """An operation was called."""
        ...

    def handed(self, token: str) -> None:
        """A completion token was handed out."""
        ...


class _Here:
    """Where the declarations below find the world: one seed runs at a time."""

    world: Surroundings


def enter(world: Surroundings) -> None:
    """Let the declarations act in ``world``."""
    _Here.world = world


desk = Agent(AGENT, retry=Retry(attempts=1), breaker=CircuitBreaker(failures=1_000_000), concurrency=2)


@desk.operation(complete_by="4s")
async def ask(amount: int) -> dict[str, int]:
    """The step is finished from outside."""
    now = current_step()
    _Here.world.called(now.remaining, now.idempotency_key)
    now.heartbeat({"asked": amount})
    _Here.world.handed(now.completion_token)
    await asyncio.sleep(0.01)
    now.finish_later()


@ask.undo
async def withdraw(result: dict[str, int] | None, amount: int) -> None:
    """Undoes nothing, and takes its time, in which people try to finish the step that is being undone."""
    now = current_step()
    _Here.world.called(now.remaining, now.idempotency_key)
    await asyncio.sleep(1.5)


async def approved(amount: int, catch: bool) -> Any:
    """A part of a workflow that waits for people."""
    if not catch:
        return await ask(amount)
    try:
        return await ask(amount)
    except StepFailed as error:
        return f"failed: {error}"


class Approvers:
    """People who finish steps: in time or too late, once or twice, one way and the other."""

    def __init__(self, chance: random.Random, mirror: Mirror, trace: Trace) -> None:
        self._chance = chance
        self._mirror = mirror
        self._trace = trace
        self._accepted: dict[tuple[str, int, str], tuple[str, int]] = {}
        """By step, the token that was good, and how often its task had been resubmitted by then."""
        self._number = 0

    def delay(self, *, faulty: bool) -> float:
        """The seconds until a token is used; in calm none is used too late."""
        return self._chance.choice(DELAYS) if faulty else 0.1

    async def decide(self, client: Client, token: str, *, faulty: bool, nonsense: bool) -> None:
        """Finish the step of that token, or try to."""
        if faulty and self._chance.random() < 0.1:
            return  # The token is never used.
        if self._chance.random() < 0.15:
            await self._turn(client, token)
        await self._use(client, token, nonsense=nonsense)
        for _ in range(self._chance.choice([0, 0, 1, 2])):
            await asyncio.sleep(self._chance.choice(DELAYS))
            await self._use(client, token, nonsense=nonsense)

    async def _turn(self, client: Client, token: str) -> None:
        """The task is undone, and a moment later its step is finished from outside."""
        found = read_token(token, NO_KEY)
        task = self._mirror.tasks.get(found.claim.task) if found is not None else None
        if task is not None:
            with contextlib.suppress(Refused, StoreError):
                await session_of(client).direct(task.id, Directive(verb="undo", actor="people"))
            await asyncio.sleep(self._chance.choice([0.0, 0.2, 1.0]))

    async def _give_nonsense(self, client: Client, token: str) -> None:
        """A result of another type is refused, and the token stays valid."""
        try:
            await client.complete(token, "nonsense")
        except CompletionRefused:
            raise
        except Refused:
            self._trace.reached("a completion of the wrong type was refused")
        else:
            self._trace.violated("S35", f"a completion of the wrong type was accepted: {token}")

    async def _use(self, client: Client, token: str, *, nonsense: bool = False) -> None:
        self._number += 1
        try:
            if nonsense and self._chance.random() < 0.3:
                await self._give_nonsense(client, token)
            if self._chance.random() < 0.15:
                await client.fail(token, f"no, says {self._number}")
            else:
                await client.complete(token, {"approved": self._number})
        except CompletionRefused as error:
            self._trace.reached(f"a completion was refused: {error.reason}")
        except (Refused, StoreError) as error:
            self._trace.note("not finished", type(error).__name__)
        else:
            self._was_accepted(token)

    def _was_accepted(self, token: str) -> None:
        found = read_token(token, NO_KEY)
        if found is None:
            self._trace.violated("bug", f"an operation was given {token!r}, which is no token")
            return
        self._trace.reached("somebody outside finished a step")
        claim = found.claim
        place = (claim.task, claim.run, claim.key)
        before, resubmitted = self._accepted.get(place, ("", -1))
        now_resubmitted = self._mirror.resubmitted(claim.task)
        if resubmitted == now_resubmitted and self._mirror.steps[place].generation == 0:
            again = "one token" if before == token else "two tokens"
            self._trace.violated("S5", f"{claim.task}/{claim.key} was finished twice, with {again}")
        self._accepted[place] = (token, now_resubmitted)
