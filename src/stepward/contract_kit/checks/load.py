"""Checks of the requests that the Agent holds: how many at once, and for how long."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from stepward.contract_kit.bench import PATIENCE, QUIET, ContractBench, described, expect
from stepward.contract_kit.checked_service import ServiceCase
from stepward.model.messages.requests import Outcome, Request

LEASES = 2.5
"""Leases for which a long call lasts."""
MORE = 2
"""Requests beyond the capacity."""


async def bounds_concurrency(bench: ContractBench) -> None:
    """The Agent works on as many requests at once as it announces, and on no more, also when a batch has more."""
    capacity = bench.capacity
    cases, requests = _calls(bench, capacity + MORE)
    await bench.scheduler.send(*requests)
    await bench.changes.until(lambda: _under_way(cases) >= capacity, PATIENCE)
    await asyncio.sleep(QUIET)
    found = _under_way(cases)
    for case in cases:
        case.release()
    expect(found == capacity, f"{capacity} calls at once, as announced", found)
    for request in requests:
        await bench.reply_to(request)


async def takes_what_it_has_room_for(bench: ContractBench) -> None:
    """An Agent without room leaves requests in the queue, for other instances."""
    cases, _ = await _filled(bench)
    more = bench.service.case()
    waiting = bench.scheduler.request("call", more.body)
    await bench.scheduler.send(waiting)
    found = await bench.scheduler.take_as_another_instance(bench.options.lease)
    for case in cases:
        case.release()
    expect(bool(found), "a request beyond the capacity left to another instance", "none: the Agent holds it")


async def keeps_leases(bench: ContractBench) -> None:
    """A call that lasts longer than the lease of its request is not given to another instance."""
    cases, requests = await _filled(bench)
    found = await bench.scheduler.take_as_another_instance(LEASES * bench.options.lease)
    for case in cases:
        case.release()
    expect(not found, "the requests kept for as long as their calls last", "one was delivered to another instance")
    for request in requests:
        reply = await bench.reply_to(request)
        expect(reply.outcome is Outcome.COMPLETED, "completed after a long call", described([reply]))


async def _filled(bench: ContractBench) -> tuple[Sequence[ServiceCase], Sequence[Request]]:
    """As many calls as the Agent works on at once, all under way."""
    cases, requests = _calls(bench, bench.capacity)
    for request in requests:
        await bench.scheduler.send(request)
    await bench.changes.until(lambda: _under_way(cases) >= len(cases), PATIENCE)
    return cases, requests


def _calls(bench: ContractBench, number: int) -> tuple[Sequence[ServiceCase], Sequence[Request]]:
    cases = [bench.service.case(is_held=True) for _ in range(number)]
    return cases, [bench.scheduler.request("call", case.body) for case in cases]


def _under_way(cases: Sequence[ServiceCase]) -> int:
    return sum(bool(case.calls) for case in cases)
