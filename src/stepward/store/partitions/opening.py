"""Opens the stores of a list: each is connected, the list is checked, and new stores get their records."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence

from msgspec.structs import replace

from stepward.clock import Environment
from stepward.errors import SettingsError, StoreUnavailable, StoreUnusable
from stepward.model.messages.completion_tokens import KEY_BYTES as TOKEN_KEY_BYTES
from stepward.model.messages.signing import KEY_BYTES, STORE_BYTES, StoreIdentity
from stepward.payload.sealed import PayloadCodec
from stepward.store.address import shown_apart
from stepward.store.contract import Store, TaskSearch
from stepward.store.contract.values.partition_record import PartitionRecord
from stepward.store.partitions.list_rules import OpenedStore, check_list, check_new, new_record
from stepward.store.partitions.partition import Partition
from stepward.store.partitions.partition_routing import Partitions
from stepward.store.sealing.key_check import check_keys
from stepward.store.store_errors import OtherApplication

ListedStore = tuple[str, Store]
"""A store that is open, with its address as messages may show it."""


class ListOpening:
    """Opens the stores of a list: all together, and one that could not be reached then by itself later."""

    def __init__(
        self,
        partitions: Partitions,
        addresses: Sequence[str],
        environment: Environment,
        codec: PayloadCodec | None,
        *,
        creates: bool,
    ) -> None:
        """``creates``: whether new stores become the partitions of a new application."""
        self._partitions = partitions
        self._addresses = addresses
        self._environment = environment
        self._codec = codec
        self._creates = creates

    async def open(self) -> None:
        """Connects to every store that can be reached, and checks the list; closes them again where that fails.

        Raises SettingsError for a list that cannot be, StoreUnavailable where no store can be reached.
        """
        try:
            reached, unusable = await self._connected()
            for member, found in (await self._begun(reached, unusable)).items():
                await check_keys(member.store.host, self._codec)
                member.accept(found)
            for member, why in unusable.items():
                member.fail(str(why))
            self._partitions.place()
        except BaseException:
            for member in self._partitions.members:
                await member.close()
            raise

    async def _connected(self) -> tuple[list[Partition], dict[Partition, StoreUnusable]]:
        """The stores that can be used, and those that were reached and cannot.

        Raises StoreUnavailable or StoreUnusable if none can, StoreUnusable for that of another application.
        """
        members = self._partitions.members
        failures = await asyncio.gather(*(member.connect() for member in members), return_exceptions=True)
        usable = [member for member, failure in zip(members, failures, strict=True) if failure is None]
        unusable = {
            member: failure
            for member, failure in zip(members, failures, strict=True)
            if isinstance(failure, StoreUnusable) and not isinstance(failure, OtherApplication)
        }
        others = [each for each in failures if each is not None and not isinstance(each, StoreUnavailable)]
        fatal = [failure for failure in others if failure not in unusable.values()]
        if fatal or not usable:
            raise next(failure for failure in (*fatal, *others, *failures) if failure is not None)
        return usable, unusable

    async def _begun(
        self, reached: Collection[Partition], unusable: Mapping[Partition, StoreUnusable]
    ) -> dict[Partition, PartitionRecord]:
        """As ``_checked``; a new application is not begun beside a store that cannot be used."""
        try:
            return await self._checked(reached)
        except StoreUnavailable:
            for failure in unusable.values():
                raise failure from None
            raise

    async def _checked(self, reached: Collection[Partition]) -> dict[Partition, PartitionRecord]:
        """The record of each of these, if they are where they belong. Raises SettingsError."""
        members = self._partitions.members
        listed = [
            (shown_apart(address), member.store) if member in reached else None
            for address, member in zip(self._addresses, members, strict=True)
        ]
        found = await checked_list(listed, self._environment, creates=self._creates)
        return {
            member: store.record
            for member, store in zip(members, found, strict=True)
            if store is not None and store.record is not None
        }

    async def admit(self, member: Partition) -> PartitionRecord:
        """The record of a store that was reached later than others. Raises SettingsError."""
        reached = [other for other in self._partitions.members if other.is_open or other is member]
        found = await self._checked(reached)
        await check_keys(member.store.host, self._codec)
        # The shards of a store that was away may have moved before.
        member.note(found[member])
        self._partitions.place()
        return found[member]


async def checked_list(
    listed: Sequence[ListedStore | None], environment: Environment, *, creates: bool
) -> list[OpenedStore | None]:
    """The stores of the list as they were found; None stands for one that cannot be reached.

    New ones get their records, with ``creates``. Raises SettingsError for a list that cannot be, and StoreUnavailable
    where new stores are to be begun and one of them cannot be reached.
    """
    # The first store is read first, because another process that writes the records writes its record last.
    found = [None if each is None else await _looked_at(*each, environment) for each in listed]
    check_list(found)
    if all(each is None or each.record is not None for each in found):
        return found
    opened = [each for each in found if each is not None]
    if len(opened) < len(found) or not creates:
        _refuse_beginning(found, creates=creates)
    for each in opened:
        if each.record is None:
            check_new(each)
    stores = [each[1] for each in listed if each is not None]
    await share_key(stores, environment)
    for place, store in reversed(list(enumerate(stores))):
        # The record of the first store shows that every store has had its own.
        kept = await store.host.keep_partition(new_record(place + 1, len(stores), opened[0].id))
        found[place] = replace(opened[place], record=kept)
    check_list(found)
    return found


async def share_key(stores: Sequence[Store], environment: Environment) -> None:
    """Gives each store the key of the first: tokens of one store are read by clients of all."""
    key = environment.random.randbytes(TOKEN_KEY_BYTES)
    for store in stores:
        key = await store.client.completion_key(key)


async def store_id(store: Store, environment: Environment) -> str:
    """The identity of a store, which is drawn where it has none."""
    return (await store.host.identity(StoreIdentity.drawn(environment.random.randbytes(KEY_BYTES + STORE_BYTES)))).store


async def _looked_at(address: str, store: Store, environment: Environment) -> OpenedStore:
    id, record = await store_id(store, environment), await store.host.partition()
    tasks = [] if record is not None else (await store.operators.tasks(TaskSearch(limit=1))).tasks
    return OpenedStore(address, id, record, bool(tasks))


def _refuse_beginning(found: Sequence[OpenedStore | None], *, creates: bool) -> None:
    if not creates:
        raise SettingsError(
            "store: expected the partitions of one application, found stores that are none yet; start the application "
            "with this list first, or name one store alone"
        )
    numbers = ", ".join(str(number) for number, each in enumerate(found, 1) if each is None)
    raise StoreUnavailable(
        f"store: expected every new store of the list to be reachable when the application first starts, found none in "
        f"place {numbers}; start it, or correct the address"
    )
