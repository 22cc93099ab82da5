"""The store at the addresses of the settings, not yet open: a single one, or several as one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeGuard

from stepward.clock import Environment
from stepward.errors import StoreUnavailable
from stepward.large_payloads import PayloadKeeper
from stepward.payload.sealed import PayloadCodec
from stepward.settings.store_list import read_stores
from stepward.store.contract import ClientStore, Identity, Store
from stepward.store.partitions.client import PartitionedClient
from stepward.store.partitions.list_rules import check_alone
from stepward.store.partitions.partitioned_store import PartitionedStore
from stepward.store.store_at_address import identify, open_store

NONE_MISSING: Mapping[str, str] = {}


def is_address(store: str | Sequence[str] | Store) -> TypeGuard[str | Sequence[str]]:
    """Whether it is an address or several, and no open store."""
    return isinstance(store, str | Sequence)


def opened_at(
    store: str | Sequence[str] | Store,
    app: str,
    environment: Environment,
    codec: PayloadCodec | None,
    keeper: PayloadKeeper | None,
    *,
    creates: bool = True,
) -> Store:
    """The store of an address, or of several; one that is given open stays as it is. Raises SettingsError."""
    if not isinstance(store, str | Sequence):
        return store
    if isinstance(store, str) or len(store) == 1:
        address = store if isinstance(store, str) else store[0]
        return open_store(address, app=app, environment=environment, codec=codec, keeper=keeper)
    addresses = read_stores(store, "store")
    return PartitionedStore(addresses, app=app, environment=environment, codec=codec, keeper=keeper, creates=creates)


def identify_any(addresses: Sequence[str]) -> Identity:
    """The identity of the first of these stores that can be reached; creates and changes nothing.

    Raises as ``identify`` does.
    """
    failure: StoreUnavailable | None = None
    for address in addresses:
        try:
            return identify(address)
        except StoreUnavailable as error:
            failure = failure or error
    raise failure or StoreUnavailable("store: expected an address, found none; name one")


def is_partitioned(store: ClientStore) -> bool:
    """Whether the store is made of several: a transaction is of one of them."""
    return isinstance(store, PartitionedClient)


def missing_in(store: Store) -> Mapping[str, str]:
    """By name, why a partition of the store did not answer when it was asked last."""
    return store.missing if isinstance(store, PartitionedStore) else NONE_MISSING


async def check_whole(store: Store) -> None:
    """Raises SettingsError for a store that is one of several and was named alone."""
    if not isinstance(store, PartitionedStore):
        check_alone(await store.host.partition())
