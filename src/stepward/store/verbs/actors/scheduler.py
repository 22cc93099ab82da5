"""The Scheduler's verbs: claim, load, commit; each engine has its own claim and commit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from typing import NamedTuple

from stepward.errors import Refused
from stepward.model.messages.requests import Reply
from stepward.model.records import History
from stepward.store.contract import Change, Committed, Least, UnownedSteps, WatchedPlace
from stepward.store.rules.change_conflicts import Missed
from stepward.store.rules.fairness import NO_TURNS, Turns
from stepward.store.verbs import connection as ask
from stepward.store.verbs.engine import VerbEngine, VerbPart
from stepward.store.verbs.replies import misrouted_replies
from stepward.store.verbs.tasks import histories, unowned_steps

WAKE_LIMIT = 1_000
"""Least number of due tasks that one claim may wake."""
MOST_LOOKED = 10
"""Most tasks that a claim looks at for each that it may take: those without a permit wait for one."""
NOTHING_MISSED = Committed({})
UNFIT = (Missed, Refused, TypeError)
"""Errors of a commit in which some change does not apply; nothing is changed then, and each change is tried alone."""


class ClaimRequest(NamedTuple):
    """The parameters of a claim."""

    instance: str
    workflows: Sequence[tuple[str, str]]
    """Workflows by name and version."""
    limit: int
    least: Least | None
    turns: Turns
    now: float


class TurnCommit(NamedTuple):
    """The parameters of a commit."""

    instance: str
    changes: Sequence[Change]
    renew: float | None
    """Seconds by which the commit extends the instance's lease."""


class SchedulerVerbs(VerbPart, ABC):
    """Implements ``SchedulerStore`` as far as the engines share it."""

    def __init__(self, engine: VerbEngine) -> None:
        super().__init__(engine)
        self._turns = engine.turns
        self._fairness: Turns = NO_TURNS

    async def claim(
        self, instance: str, workflows: Sequence[tuple[str, str]], limit: int, least: Least | None = None
    ) -> list[History]:
        if not workflows or limit <= 0:
            return []
        wanted = ClaimRequest(instance, workflows, limit, least, self._fairness, self._clock.now())
        claimed, self._fairness = await self._claim(wanted)
        return claimed

    async def load(self, instance: str, tasks: Sequence[str], *, are_long: bool = False) -> list[History]:
        read = self._turns.read_beside if are_long else self._turns.read_more
        return await read(histories.load, instance, tasks)

    async def next_wake(self) -> float | None:
        row = await self._turns.read(ask.row, "scheduler.next_wake")
        wake: float | None = row[0] if row else None
        return wake

    async def next_start(self) -> float | None:
        row = await self._turns.read(ask.row, "permits.next_start")
        start: float | None = row[0] if row else None
        return start

    async def settle_misrouted(self, replies: Sequence[Reply]) -> None:
        await self._turns.write(misrouted_replies.settle, replies, self._clock.now())
        self._ring()

    async def unowned_steps(self, after: WatchedPlace, agents: Collection[str] | None, limit: int) -> UnownedSteps:
        return await self._transactions.read_more(unowned_steps.look, after, agents, limit)

    @abstractmethod
    async def _claim(self, wanted: ClaimRequest) -> tuple[list[History], Turns]:
        """The histories of the claimed tasks, and the last fairness key of each priority."""
