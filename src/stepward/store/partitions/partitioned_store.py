"""A store that is made of several, for clients and operators; Schedulers, Agents and Supervisors have one each."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial, reduce
from operator import or_
from typing import Any, cast

from stepward.clock import Environment
from stepward.errors import Refused
from stepward.large_payloads import PayloadKeeper
from stepward.model.messages.change_kinds import Kinds
from stepward.model.records import Task
from stepward.payload.sealed import PayloadCodec
from stepward.store.contract import (
    ClientStore,
    HostStore,
    MessageStore,
    OperatorStore,
    SchedulerStore,
    Store,
    SupervisorStore,
)
from stepward.store.contract.values.partition_record import PartitionRecord
from stepward.store.partitions.client import PartitionedClient
from stepward.store.partitions.locating.stray_tasks import StrayTasks
from stepward.store.partitions.messages import PartitionedMessages
from stepward.store.partitions.opening import ListOpening
from stepward.store.partitions.operators.every_subject import PartitionedOperators
from stepward.store.partitions.partition import Partition
from stepward.store.partitions.partition_routing import Partitions
from stepward.store.store_at_address import open_store


class PartitionedStore:
    """Implements ``Store`` over several, given by their addresses in order.

    It opens if one of them can be reached; the others are opened when they can be. ``creates``: whether new stores
    become the partitions of a new application. Verbs that are of one store raise Refused.
    """

    def __init__(
        self,
        addresses: Sequence[str],
        *,
        app: str,
        environment: Environment,
        codec: PayloadCodec | None = None,
        keeper: PayloadKeeper | None = None,
        creates: bool = True,
    ) -> None:
        self.addresses = tuple(addresses)
        members = [
            Partition(
                number,
                open_store(address, app=app, environment=environment, codec=codec, keeper=keeper),
                environment,
                self._admit,
            )
            for number, address in enumerate(addresses, 1)
        ]
        self.partitions = Partitions(members)
        self._opening = ListOpening(self.partitions, self.addresses, environment, codec, creates=creates)
        count = len(members)
        self.strays = StrayTasks(self.partitions)
        """The tasks that stand elsewhere than their ids are placed."""
        self.client = cast(ClientStore, PartitionedClient(self.partitions, self.strays))
        self.operators = cast(OperatorStore, OneStoreVerbs(PartitionedOperators(self.partitions), count))
        self.host = cast(HostStore, OneStoreVerbs(_PartitionedHost(self.partitions), count))
        self.messages = cast(MessageStore, OneStoreVerbs(PartitionedMessages(self.partitions), count))
        self.supervisor = cast(SupervisorStore, OneStoreVerbs(_PartitionedReads(self.partitions), count))
        self.scheduler = cast(SchedulerStore, OneStoreVerbs(None, count))

    def now(self) -> float:
        return self.partitions.now()

    @property
    def missing(self) -> Mapping[str, str]:
        """By name, why a partition did not answer when it was asked last."""
        return self.partitions.missing

    async def open(self) -> None:
        """Connects to every store that can be reached, and checks the list. Raises SettingsError for one that cannot
        be, StoreUnavailable where no store can be reached."""
        await self._opening.open()

    async def close(self) -> None:
        for member in self.partitions.members:
            await member.close()

    async def _admit(self, member: Partition) -> PartitionRecord:
        return await self._opening.admit(member)


class OneStoreVerbs:
    """The verbs of ``part``; any other verb is refused, because it is of one store."""

    def __init__(self, part: object, count: int) -> None:
        self._part = part
        self._count = count

    def __getattr__(self, verb: str) -> Any:
        if verb.startswith("_"):
            raise AttributeError(verb)
        found = getattr(self._part, verb, None)
        if found is None:
            raise Refused(
                f"{verb.replace('_', ' ')}: expected one store, found {self._count} partitions; name one of them"
            )
        return found


class _PartitionedHost:
    """The change notifications of every store."""

    def __init__(self, partitions: Partitions) -> None:
        self._partitions = partitions

    def changed(self) -> Kinds:
        """As ``HostStore.changed``."""
        each = [member.store.host.changed() for member in self._partitions.members if member.is_open]
        return reduce(or_, each, 0)

    async def stirred(self, every: float) -> None:
        """As ``HostStore.stirred``."""
        stores = [member.store for member in self._partitions.members if member.is_open]
        if not stores:
            await asyncio.sleep(every)
            return
        waits = [asyncio.ensure_future(store.host.stirred(every)) for store in stores]
        try:
            done, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            for wait in done:
                wait.result()
        finally:
            for wait in waits:
                wait.cancel()

    async def key_marks(self) -> dict[str, str]:
        """The keys of every store that can be reached."""
        found = await self._partitions.read_each(lambda store: store.host.key_marks())
        return {key: mark for _, marks in found for key, mark in marks.items()}


class _PartitionedReads:
    """What the HTTP API reads of tasks by their uids, and the Supervisor of each store of the owners of objects."""

    def __init__(self, partitions: Partitions) -> None:
        self._partitions = partitions

    async def outlived_tasks(self, uids: Sequence[str], after: str) -> list[Task]:
        """All of the tasks in one page, in the order of their uids: those of every store that can be reached.

        Raises StoreUnavailable if none of the tasks was found and a store could not be asked: they may be there.
        """
        found = await self._partitions.read_each(partial(_outlived, uids=uids, after=after))
        tasks = [task for _, those in found for task in those]
        failures = [member.missing for member in self._partitions.members if member.missing is not None]
        if uids and not after and not tasks and failures:
            raise failures[0]
        return sorted(tasks, key=lambda task: task.uid)

    async def known_owners(self, uids: Sequence[str]) -> set[str]:
        """As ``ObjectOwnerStore.known_owners``. Raises StoreUnavailable unless every store answers and none moves."""
        version = await self._partitions.still()
        found = await self._partitions.write_each(lambda store: store.supervisor.known_owners(uids))
        await self._partitions.check_still(version)
        return {uid for known in found for uid in known}

    async def family(self, uid: str, limit: int) -> list[str]:
        """As ``ObjectOwnerStore.family``; raises as ``known_owners``."""
        version = await self._partitions.still()
        found = await self._partitions.write_each(lambda store: store.supervisor.family(uid, limit))
        await self._partitions.check_still(version)
        return [each for family in found for each in family][:limit]


async def _outlived(store: Store, *, uids: Sequence[str], after: str) -> list[Task]:
    found: list[Task] = []
    while page := await store.supervisor.outlived_tasks(uids, after):
        found += page
        after = page[-1].uid
    return found
