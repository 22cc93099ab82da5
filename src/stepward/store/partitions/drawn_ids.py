"""Ids that are drawn for submissions under a key and for forks: of several stores, placed where the task is to be."""

from __future__ import annotations

from stepward.store.contract import ClientStore
from stepward.store.partitions.client import PartitionedClient
from stepward.store.partitions.placement import drawn_in, shard_of_key


def uid_for_key(store: ClientStore, key: str, uid: str) -> str:
    """The uid of a submission under a key: of several stores, one whose id is placed where the key is."""
    return drawn_in(uid, frozenset({shard_of_key(key)})) if isinstance(store, PartitionedClient) else uid


def uid_of_fork(store: ClientStore, origin: str, uid: str) -> str:
    """The uid of a fork: of several stores, one whose id is placed where the origin is."""
    return store.uid_beside(origin, uid) if isinstance(store, PartitionedClient) else uid
