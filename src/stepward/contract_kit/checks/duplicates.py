"""Checks of requests that come twice, and of revocations."""

from __future__ import annotations

import asyncio

from stepward.contract_kit.bench import PATIENCE, QUIET, ContractBench, described, expect
from stepward.contract_kit.reply_reader import data_of
from stepward.model.messages.requests import Outcome

ARRIVAL = 0.3
"""Seconds in which a revocation arrives, which travels beside the requests."""


async def performs_once_at_a_time(bench: ContractBench) -> None:
    """A request that comes again while the Agent works on it starts no second call."""
    case = bench.service.case(is_held=True)
    request = await bench.call(case)
    await bench.scheduler.send(request)
    await asyncio.sleep(QUIET)
    case.release()
    reply = await bench.reply_to(request)
    expect(reply.outcome is Outcome.COMPLETED, "completed", described([reply]))
    expect(case.most_at_once == 1, "one call of the service at a time", f"{case.most_at_once} at once")


async def answers_again(bench: ContractBench) -> None:
    """A request that comes again after its reply is answered again, alike: the first reply may be lost."""
    case = bench.service.case()
    request = await bench.call(case)
    first = await bench.reply_to(request)
    await bench.scheduler.send(request)
    second = await bench.reply_to(request, number=2)
    is_same = (first.outcome, data_of(first)) == (second.outcome, data_of(second))
    expect(is_same, f"the reply {described([first])} again", described([second]))


async def stops_when_revoked(bench: ContractBench) -> None:
    """A revoked call is cut short, and then answered with ``gave_up`` and ``maybedone``."""
    case = bench.service.case(is_held=True)
    request = await bench.call(case)
    await bench.scheduler.revoke(request)
    await bench.changes.until(lambda: case.is_cut, PATIENCE)
    expect(case.is_cut, "the call cut short after its revocation", "it went on")
    reply = await bench.reply_to(request)
    is_so = reply.outcome is Outcome.GAVE_UP and reply.maybedone
    expect(is_so, "gave_up with maybedone", f"{described([reply])}, maybedone {reply.maybedone}")


async def does_not_begin_revoked(bench: ContractBench) -> None:
    """A request that arrives after its revocation is answered with ``gave_up``, and not performed."""
    case = bench.service.case()
    request = bench.scheduler.request("call", case.body)
    await bench.scheduler.revoke(request)
    await asyncio.sleep(ARRIVAL)
    await bench.scheduler.send(request)
    reply = await bench.reply_to(request)
    expect(not case.calls, "no call for a revoked request", f"{len(case.calls)}")
    is_so = reply.outcome is Outcome.GAVE_UP and not reply.maybedone
    expect(is_so, "gave_up without maybedone", f"{described([reply])}, maybedone {reply.maybedone}")


async def leaves_returned_revoked(bench: ContractBench) -> None:
    """A revoked request that was delivered before is dropped: its former instance may still work on it."""
    case = bench.service.case()
    request = bench.scheduler.request("call", case.body)
    await bench.scheduler.revoke(request)
    await asyncio.sleep(ARRIVAL)
    await bench.scheduler.send(request, is_returned=True)
    await bench.quiet()
    expect(not case.calls, "no call for a revoked request", f"{len(case.calls)}")
    replies = bench.scheduler.arrival.replies(request)
    expect(not replies, "no reply, as the request was delivered before", described(replies))
