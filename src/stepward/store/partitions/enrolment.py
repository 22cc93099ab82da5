"""The check of a list of stores when it is opened, and the records of new ones."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from stepward.clock import Environment
from stepward.errors import SettingsError, StoreUnavailable
from stepward.model.messages.completion_tokens import KEY_BYTES as TOKEN_KEY_BYTES
from stepward.model.messages.signing import KEY_BYTES, STORE_BYTES, StoreIdentity
from stepward.store.contract import Store, TaskSearch
from stepward.store.partitions.record import OpenedStore, check_list, check_new, new_record

ListedStore = tuple[str, Store]
"""A store that is open, with its address as messages may show it."""


async def enrolled(
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
