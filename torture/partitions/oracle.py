"""The oracle: what every order must have come to and in which store, and that no share stopped another."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from stepward import TaskState
from stepward.store.partitions.placement import initial_shards, partition_name, shard_of
from torture.partitions.application import CHARGES, is_refused
from torture.partitions.service import Bank

MOST_SHOWN = 5
"""Findings of each kind, so that none hides another."""


@dataclass(frozen=True, slots=True)
class Outage:
    """A time in which some stores were stopped together; partitions count from 1."""

    stopped: frozenset[int]
    began: float
    ended: float
    layouts: frozenset[int]
    """The numbers of partitions by which tasks may have been placed: two of them if a share moved meanwhile."""


def place_of(order: str, count: int) -> int:
    """The partition of an order, counted from 1."""
    return next(number for number, shards in enumerate(initial_shards(count), 1) if shard_of(order) in shards)


def judged(
    orders: Collection[str], stores: Sequence[Mapping[str, TaskState]], bank: Bank, outages: Sequence[Outage]
) -> list[str]:
    """The findings, a line for each; ``stores`` has the state of every task by its id, for each store alone."""
    findings = [
        _misplaced(stores),
        _wrong_ends(orders, stores, bank),
        _second_keys(bank),
        _stopped(orders, bank, outages),
    ]
    return [line for found in findings for line in found[:MOST_SHOWN]]


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


def _second_keys(bank: Bank) -> list[str]:
    return [
        f"order {order}: expected each {verb} of number {number} under one key, found {', '.join(sorted(keys))}"
        for (verb, (order, number)), keys in bank.keys.items()
        if len(keys) > 1
    ]


def _stopped(orders: Collection[str], bank: Bank, outages: Sequence[Outage]) -> list[str]:
    """The outages in which a healthy partition charged nothing."""
    broken = []
    for outage in outages:
        charged = {order for (order, _), at in bank.charged.items() if outage.began <= at <= outage.ended}
        at_work = {place for order in charged & set(orders) if (place := _only_place(order, outage.layouts))}
        broken += [
            f"outage of {_names(outage.stopped)}: expected p{number} to go on in its "
            f"{outage.ended - outage.began:.0f} s, found no charge of it"
            for number in range(1, min(outage.layouts) + 1)
            if number not in outage.stopped | at_work
        ]
    return broken


def _only_place(order: str, layouts: Collection[int]) -> int | None:
    """The partition of an order, unless it may have moved meanwhile."""
    places = {place_of(order, count) for count in layouts}
    return places.pop() if len(places) == 1 else None


def _names(partitions: Collection[int]) -> str:
    return ", ".join(map(partition_name, sorted(partitions)))
