"""The oracle: what every order must have come to, in which store it must be, and that no share stopped another."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from stepward import TaskState
from stepward.store.partitions.placement import Shards, initial_shards, shard_of
from torture.partitions.application import CHARGES, is_refused
from torture.partitions.service import Bank

MOST_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Outage:
    """A time in which one store was stopped; partitions count from 1."""

    partition: int
    began: float
    ended: float


def held(count: int) -> list[Shards]:
    """The shards of each partition."""
    return initial_shards(count)


def place_of(order: str, count: int) -> int:
    """The partition of an order, counted from 1."""
    return next(number for number, shards in enumerate(held(count), 1) if shard_of(order) in shards)


def judged(
    orders: Collection[str], stores: Sequence[Mapping[str, TaskState]], bank: Bank, outages: Sequence[Outage]
) -> list[str]:
    """The findings, a line for each; ``stores`` has the state of every task by its id, for each store alone."""
    broken = [*_misplaced(stores), *_wrong_ends(orders, stores, bank), *_stopped(orders, len(stores), bank, outages)]
    return broken[:MOST_SHOWN]


def _misplaced(stores: Sequence[Mapping[str, TaskState]]) -> list[str]:
    return [
        f"task {id}: expected it in p{place_of(id, len(stores))} alone, found it in p{number}"
        for number, tasks in enumerate(stores, 1)
        for id in tasks
        if place_of(id, len(stores)) != number
    ]


def _wrong_ends(orders: Collection[str], stores: Sequence[Mapping[str, TaskState]], bank: Bank) -> list[str]:
    found = {id: state for tasks in stores for id, state in tasks.items()}
    broken = []
    for order in sorted(orders):
        state = TaskState.UNDONE if is_refused(order) else TaskState.PROCESSED
        charges = set() if is_refused(order) else set(range(CHARGES))
        if found.get(order) != state or bank.stands(order) != charges:
            broken.append(
                f"order {order}: expected {state} with the charges {charges or 'none'}, found {found.get(order)} with "
                f"{bank.stands(order) or 'none'}"
            )
        if f"{order}/delivery/1" not in found:
            broken.append(f"order {order}: expected its child task beside it, found none")
    extra = [id for id in found if "/" not in id and id not in orders]
    return [*broken, *(f"task {id}: expected it to have been submitted, found it in a store" for id in extra)]


def _stopped(orders: Collection[str], count: int, bank: Bank, outages: Sequence[Outage]) -> list[str]:
    """The outages in which a healthy partition charged nothing."""
    broken = []
    places = {order: place_of(order, count) for order in orders}
    for outage in outages:
        at_work = {
            places[order]
            for (order, _), at in bank.charged.items()
            if order in places and outage.began <= at <= outage.ended
        }
        broken += [
            f"outage of p{outage.partition}: expected p{number} to go on in its {outage.ended - outage.began:.0f} s, "
            "found no charge of it"
            for number in range(1, count + 1)
            if number != outage.partition and number not in at_work
        ]
    return broken
