"""Checks of the complete-by."""

from __future__ import annotations

import asyncio

from stepward.contract_kit.bench import QUIET, ContractBench, described, expect
from stepward.contract_kit.checked_service import ServiceCase
from stepward.model.messages.requests import Request

PAST = -1.0
SOON = 1.5
"""Seconds to the complete-by of a call that the service does not answer."""
CUT_SECONDS = 1.0
"""Seconds after the complete-by within which the call has ended."""


async def drops_expired(bench: ContractBench) -> None:
    """A request past its complete-by is neither performed nor answered."""
    case = bench.service.case()
    request = bench.scheduler.request("call", case.body, seconds=PAST)
    await bench.scheduler.send(request)
    await bench.quiet()
    expect(not case.calls, "no call for a request past its complete-by", f"{len(case.calls)}")
    replies = bench.scheduler.arrival.replies(request)
    expect(not replies, "no reply to a request past its complete-by", described(replies))


async def cuts_off(bench: ContractBench) -> None:
    """A call that is under way at the complete-by is cut short."""
    case, request = await _held(bench)
    left = request.complete_by - bench.scheduler.now()
    await bench.changes.until(lambda: case.is_cut, left + CUT_SECONDS)
    expect(case.is_cut, f"the call cut short within {CUT_SECONDS:g} s of its complete-by", "it went on")


async def stays_silent(bench: ContractBench) -> None:
    """A call that was cut short at the complete-by gets no reply."""
    _, request = await _held(bench)
    await asyncio.sleep(max(0.0, request.complete_by - bench.scheduler.now()) + QUIET)
    replies = bench.scheduler.arrival.replies(request)
    expect(not replies, "no reply after the complete-by", described(replies))


async def _held(bench: ContractBench) -> tuple[ServiceCase, Request]:
    """A call that the service does not answer, with a complete-by that is near."""
    case = bench.service.case(is_held=True)
    request = bench.scheduler.request("call", case.body, seconds=SOON)
    await bench.scheduler.send(request)
    await bench.called(case)
    return case, request
