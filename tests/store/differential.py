"""A random stream of store verbs, run on two stores alike: their answers and their rows must stay equal.

Numbers that a store draws (of inbox rows, messages, alerts, letters) differ where work was rolled back, so each pair of
them is one *place*; verbs take places and translate them.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import msgspec

from stepward.errors import StepwardError
from stepward.model.records import Alert, Audit, DeadLetter, InboxRow
from stepward.store.contract import Committed, Store, StoredMessage
from tests.store.conformance.world import HandClock

Numbers = tuple[int, ...]
"""What each store calls one and the same row."""
Act = Callable[[Store, int], Awaitable[Any]]
"""An act on a store, which is at that position among the stores."""
Maker = Callable[["Stream"], Awaitable[Act | None]]


class Stream:
    """The acts on every store, and the known state of what they hold."""

    def __init__(self, stores: Sequence[Store], clock: HandClock, seed: int, makers: Mapping[str, Maker]) -> None:
        self.stores = stores
        self.clock = clock
        self.chance = random.Random(seed)
        self.succeeded: Counter[str] = Counter()
        self.log: list[str] = []
        self.ids: list[str] = []
        self.uids: list[str] = []
        self.instances: list[str] = []
        self.term = 0
        self.inbox: list[Numbers] = []
        self.tokens: list[tuple[str, Numbers]] = []
        self.alerts: list[Numbers] = []
        self.letters: list[Numbers] = []
        self.cursors: dict[str, Numbers] = {}
        self.claimed: dict[str, set[str]] = {}
        """What each instance has claimed since it last read its inbox."""
        self.queue = ""
        """The queue that was asked last."""
        self._makers = makers
        self._made = 0

    async def step(self) -> None:
        """Do one thing on each store, and compare."""
        name = self.chance.choice(list(self._makers))
        act = await self._makers[name](self)
        if act is None:
            return
        self.log.append(name)
        answers = [await _kept(act(store, number)) for number, store in enumerate(self.stores)]
        first, *others = [_plain(answer) for answer in answers]
        for other in others:
            assert other == first, f"after {len(self.log)}, {self.log[-5:]}: {other} is not {first}"
        self._learn(answers)
        if not isinstance(answers[0], StepwardError):
            self.succeeded[name] += bool(answers[0]) or answers[0] is None

    def new(self, kind: str) -> str:
        """A name that nothing has yet."""
        self._made += 1
        return f"{kind}-{self._made:06}"

    def pick(self, values: Any) -> Any:
        """One of them, if there are any."""
        known = list(values)
        return self.chance.choice(known) if known else None

    def now(self) -> float:
        return self.clock.wall()

    def _learn(self, answers: list[Any]) -> None:
        """Take note of the numbers that the stores drew."""
        if not isinstance(answers[0], list):
            return
        for row in zip(*answers, strict=True):
            if isinstance(row[0], StoredMessage):
                self.tokens.append((self.queue, tuple(each.token for each in row)))
            elif isinstance(row[0], InboxRow | Alert | DeadLetter):
                known = {InboxRow: self.inbox, Alert: self.alerts, DeadLetter: self.letters}[type(row[0])]
                known.append(tuple(each.number for each in row))


async def _kept(doing: Awaitable[Any]) -> Any:
    try:
        return await doing
    except StepwardError as error:
        return error


def _plain(answer: Any) -> Any:
    """An answer without what may differ: numbers, and how an error of the store names its place."""
    if isinstance(answer, StepwardError):
        return type(answer).__name__
    if isinstance(answer, list):
        return [_plain(each) for each in answer]
    if isinstance(answer, InboxRow | Alert | Audit | DeadLetter):
        return msgspec.structs.replace(answer, number=0)
    if isinstance(answer, StoredMessage):
        return msgspec.structs.replace(answer, token=0)
    if isinstance(answer, Committed):
        return sorted(answer.missed)
    return answer
