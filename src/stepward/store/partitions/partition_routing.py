"""Routing among the partitions of an application: which holds a task, and reads that ask every one of them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TypeVar

from stepward.errors import StoreUnavailable
from stepward.model.records import Task
from stepward.store.contract import Store, Submitted
from stepward.store.partitions.locating.shard_map import ShardMap
from stepward.store.partitions.numbers import inside
from stepward.store.partitions.partition import BEYOND, ON_ITS_WAY, READ_SECONDS, Partition
from stepward.store.partitions.placement import initial_shards, is_drawn, shard_of, shard_of_key
from stepward.store.store_errors import ShardElsewhere

T = TypeVar("T")
MOST_HOMES = 20_000
"""Most ids and uids of tasks whose partition is remembered."""
ARRIVAL_SECONDS = 10.0
"""Seconds for which a verb waits for a shard that has left one store and is not in another yet."""
LOOK_SECONDS = 0.05
"""Seconds between two looks whether it has arrived."""
REFRESH_SECONDS = 1.0
"""Seconds after which those who wait for tasks look where they are."""
StoreVerb = Callable[[Store], Awaitable[T]]


class Partitions:
    """The partitions in the order of the list."""

    def __init__(self, members: Sequence[Partition]) -> None:
        self.members = members
        self._homes: dict[str, Partition] = {}
        self._read_at = float("-inf")
        self._map = ShardMap(members)
        self.place()

    @property
    def version(self) -> int:
        """Counts the changes of the placement that were seen."""
        return self._map.version

    def place(self) -> None:
        """Places the shards as the stores say that hold them."""
        if self._map.update():
            self._homes.clear()

    async def refresh(self, after: float = 0.0) -> None:
        """Reads again which shards each store holds, unless that was done within so many seconds."""
        now = self.boot()
        if now - self._read_at < after:
            return
        self._read_at = now
        # The last store is read last: a shard that has left by then another one may have arrived.
        for member in self.members:
            if member.is_open:
                with suppress(StoreUnavailable):
                    await member.look(READ_SECONDS)
        self.place()

    async def with_placement(self, verb: Callable[[], Awaitable[T]]) -> T:
        """The result of a verb that goes where an id is placed; again where its shard has left, for a bounded time.

        Raises ShardElsewhere where the shard does not arrive in that time.
        """
        begun = self.boot()
        while True:
            try:
                return await verb()
            except ShardElsewhere:
                if self.boot() - begun > ARRIVAL_SECONDS:
                    raise
                version = self.version
                await self.refresh()
                if version == self.version:
                    await asyncio.sleep(LOOK_SECONDS)

    @property
    def may_move(self) -> bool:
        """Whether a share has not moved whole to the last partition."""
        last = self.members[-1]
        return not last.is_open or len(last.shards) < len(initial_shards(len(self.members))[-1])

    async def still(self) -> int:
        """The present placement, for ``check_still``."""
        await self.refresh()
        return self.version

    async def check_still(self, version: int) -> None:
        """Raises StoreUnavailable if a shard has moved since ``still``, or to a store that is not in the list: its
        tasks may have been in no store that was asked."""
        if await self.may_have_moved(version):
            raise StoreUnavailable("store: expected every shard in a store, found one that moves; ask again later")
        self.check_listed()

    def check_listed(self) -> None:
        """Raises StoreUnavailable if shards were seen to have moved to a store that is not in the list."""
        if self._map.is_beyond:
            raise StoreUnavailable(BEYOND)

    def placed(self, id: str) -> Partition:
        """The partition that holds the task of that id, or the schedule of that name."""
        return self._map.partition(shard_of(id))

    def placed_key(self, key: str) -> Partition:
        """The partition of submissions under a key."""
        return self._map.partition(shard_of_key(key))

    def boot(self) -> float:
        """The host's boot clock."""
        return self.members[0].clock.boot()

    def _in_order_for(self, id: str) -> list[Partition]:
        """The partitions in the order in which a task is looked for: first where its id is placed.

        A fork, and a task that was submitted with a key, may be elsewhere.
        """
        first = self.placed(id)
        return [first, *(member for member in self.members if member is not first)]

    async def holds(self, partition: Partition, id: str) -> bool:
        """Whether the task of that id is placed in that partition, which is read again where it was not."""
        if self.placed(id) is not partition and self.may_move:
            await self.refresh()
        return self.placed(id) is partition

    def note(self, tasks: Iterable[Task | Submitted], partition: Partition) -> None:
        """Remember where these tasks are: the uid of a task whose id was chosen says nothing of its place."""
        for task in tasks:
            if self.may_move and self.placed(task.id) is not partition:
                # It may have been read there before it moved.
                continue
            self._homes[task.uid] = self._homes[task.id] = partition
        while len(self._homes) > MOST_HOMES:
            del self._homes[next(iter(self._homes))]

    def where(self, id: str) -> list[Partition]:
        """The partitions in which the task of that id or uid is looked for, in order."""
        home = self._homes.get(id)
        return self._in_order_for(id) if home is None else [home]

    def forget(self, id: str) -> bool:
        """Forget where the task of that id or uid is; whether that was remembered."""
        return self._homes.pop(id, None) is not None

    def split(self, uids: Iterable[str]) -> dict[Partition, list[str]]:
        """The uids by the partitions in which they are looked for."""
        found: dict[Partition, list[str]] = {}
        for uid in uids:
            for member in self.where(uid):
                found.setdefault(member, []).append(uid)
        return found

    def now(self) -> float:
        """The clock of the first store that was reached."""
        return next((member for member in self.members if member.is_open), self.members[0]).store.now()

    @property
    def missing(self) -> dict[str, str]:
        """By name, why a partition did not answer when it was asked last, or has not all of its tasks yet."""
        moving = {self.members[-1].name: ON_ITS_WAY} if self._map.away else {}
        return moving | {member.name: str(member.missing) for member in self.members if member.missing is not None}

    def numbered(self, number: int) -> Partition:
        """The partition in that place, counted from 1."""
        return self.members[number - 1]

    def by_number(self, numbers: Iterable[int]) -> dict[Partition, list[int]]:
        """The numbers of alerts, dead letters or messages in each store, by its partition; of none, by the first."""
        found: dict[Partition, list[int]] = {}
        for number in numbers:
            place, own = inside(number)
            if 1 <= place <= len(self.members):
                found.setdefault(self.numbered(place), []).append(own)
            else:
                found.setdefault(self.members[0], []).append(number)
        return found

    async def read_each(self, verb: StoreVerb[T]) -> list[tuple[Partition, T]]:
        """What each store that can be reached answers, in order. Raises StoreUnavailable if none can."""
        return await self.read_those(dict.fromkeys(self.members, verb))

    async def read_those(self, verbs: Mapping[Partition, StoreVerb[T]]) -> list[tuple[Partition, T]]:
        """The same for some of them, each with a verb of its own."""
        found: list[T | BaseException] = await asyncio.gather(
            *(member.read(verb) for member, verb in verbs.items()), return_exceptions=True
        )
        answers: list[tuple[Partition, T]] = []
        failures: list[BaseException] = []
        for member, answer in zip(verbs, found, strict=True):
            if isinstance(answer, BaseException):
                failures.append(answer)
            else:
                answers.append((member, answer))
        for failure in failures:
            if not isinstance(failure, StoreUnavailable) or not answers:
                raise failure
        return answers

    async def write_each(self, verb: StoreVerb[T]) -> list[T]:
        """What each store answers to an act on all of them. Raises StoreUnavailable if one could not be reached, once
        the others have carried it out: the same act may be asked for again."""
        found: list[T | BaseException] = await asyncio.gather(
            *(member.ask(verb) for member in self.members), return_exceptions=True
        )
        failures = [each for each in found if isinstance(each, BaseException)]
        if failures:
            raise failures[0]
        return [each for each in found if not isinstance(each, BaseException)]

    async def write_reachable(self, verb: StoreVerb[T]) -> list[T]:
        """What each store that can be reached answers to an act. Raises StoreUnavailable if none can."""
        return [answer for _, answer in await self.read_each(verb)]

    async def any(self, verb: StoreVerb[T]) -> T:
        """What the first store that can be reached answers."""
        failure: StoreUnavailable | None = None
        for member in self.members:
            try:
                return await member.read(verb)
            except StoreUnavailable as error:
                failure = failure or error
        raise failure or StoreUnavailable("store: expected a partition, found none")

    async def first(self, verb: StoreVerb[T], is_found: Callable[[T], bool], id: str) -> T | None:
        """The first answer that is one, asking one partition after the other for the task of that id or uid; None where
        no store has one.

        Raises StoreUnavailable if none has one and a store could not be asked: it may be there.
        """
        found = await self.looked_for(verb, is_found, id)
        return None if found is None else found[1]

    async def holder(self, verb: StoreVerb[object | None], id: str) -> Partition | None:
        """The first partition whose answer is not None; as ``first``."""
        found = await self.looked_for(verb, lambda answer: answer is not None, id)
        return None if found is None else found[0]

    async def looked_for(
        self, verb: StoreVerb[T], is_found: Callable[[T], bool], id: str
    ) -> tuple[Partition, T] | None:
        """The same with the partition. What is found nowhere is looked for again if shards have moved meanwhile, and
        is waited for while its shard is on its way.

        Raises StoreUnavailable if nothing was found and a shard does not arrive in a bounded time.
        """
        begun, members = self.boot(), list(self.where(id))
        while True:
            version = self.version
            found = await self._looked_for(verb, is_found, members)
            if found is not None:
                return found
            await self.refresh()
            if not (is_waited_for := self.is_on_its_way(id)) and version == self.version:
                self.check_listed()
                return None
            if self.boot() - begun > ARRIVAL_SECONDS:
                raise StoreUnavailable(ON_ITS_WAY)
            if is_waited_for:
                await asyncio.sleep(LOOK_SECONDS)
            members = list(self.members)

    def is_on_its_way(self, id: str) -> bool:
        """Whether what is looked for by that id, or name, may be of a shard that is in no store.

        A uid says nothing of the shard of a task whose id was chosen.
        """
        away = self._map.away
        return bool(away) and (shard_of(id) in away or is_drawn(id))

    @property
    def is_any_away(self) -> bool:
        """Whether a shard was seen to be in no store."""
        return bool(self._map.away)

    async def may_have_moved(self, version: int) -> bool:
        """Whether a shard moves, or has moved since that version."""
        await self.refresh()
        return self.is_any_away or version != self.version

    async def _looked_for(
        self, verb: StoreVerb[T], is_found: Callable[[T], bool], members: Sequence[Partition]
    ) -> tuple[Partition, T] | None:
        failure: StoreUnavailable | None = None
        for member in members:
            try:
                found = await member.read(verb)
            except StoreUnavailable as error:
                failure = failure or error
                continue
            if is_found(found):
                return member, found
        if failure is not None:
            raise failure
        return None
