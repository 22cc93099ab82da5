"""Checks of the calls of the remote service: headers, outcomes, errors, repeats."""

from __future__ import annotations

from datetime import datetime

import msgspec

from stepward.contract_kit.bench import ContractBench, described, expect
from stepward.contract_kit.checked_service import UNAVAILABLE, ServiceReply
from stepward.contract_kit.reply_reader import data_of
from stepward.model.messages.requests import Outcome, Request
from stepward.transport.wire.wire_events import ReplyEvent

REFUSED = 422
DOWN = ServiceReply(UNAVAILABLE, {"title": "down"})
REFUSAL = ServiceReply(REFUSED, {"title": "refused"})
CLOSE_BY = 0.002
"""Seconds by which a header's instant may differ: it has milliseconds."""


async def sends_key(bench: ContractBench) -> None:
    """Every attempt calls the service under the request's idempotency key."""
    case = bench.service.case(DOWN)
    first = await bench.call(case)
    await bench.reply_to(first)
    await _repeat(bench, first)
    keys = {call.key for call in case.calls}
    expect(keys == {first.idempotency_key}, f"the Idempotency-Key {first.idempotency_key!r} on each call", sorted(keys))


async def sends_headers(bench: ContractBench) -> None:
    """A call carries the complete-by and the trace context of its attempt."""
    case = bench.service.case()
    request = await bench.call(case)
    headers = case.calls[0].headers
    sent = msgspec.json.decode(bench.scheduler.encoded(request))
    until = headers.get("stepward-complete-by", "")
    is_same = abs(_instant(until) - request.complete_by) < CLOSE_BY
    expect(is_same, f"the header Stepward-Complete-By with {sent['expirytime']}", repr(until))
    trace = headers.get("traceparent")
    expect(trace == sent["traceparent"], f"the header traceparent with {sent['traceparent']}", repr(trace))


async def passes_result(bench: ContractBench) -> None:
    """The result of a call is what the service returned."""
    case = bench.service.case()
    reply = await bench.reply_to(await bench.call(case))
    is_same = reply.outcome is Outcome.COMPLETED and data_of(reply) == case.reply.body
    expect(is_same, f"completed with {case.reply.body}", described([reply]))


async def fails_for_good(bench: ContractBench) -> None:
    """What the service refuses for good is answered with ``failed``."""
    reply = await _answered(bench, REFUSAL)
    expect(reply.outcome is Outcome.FAILED, f"failed after the status {REFUSED}", described([reply]))


async def gives_up(bench: ContractBench) -> None:
    """What another attempt may achieve is answered with ``gave_up``."""
    reply = await _answered(bench, DOWN)
    expect(reply.outcome is Outcome.GAVE_UP, f"gave_up after the status {UNAVAILABLE}", described([reply]))


async def tells_doubt(bench: ContractBench) -> None:
    """``maybedone`` says whether the service may have acted although the attempt failed."""
    down = await _answered(bench, DOWN)
    expect(down.maybedone, f"maybedone true after the status {UNAVAILABLE}", "false or none")
    refused = await _answered(bench, REFUSAL)
    expect(not refused.maybedone, f"no maybedone after the status {REFUSED}", "true")


async def describes_errors(bench: ContractBench) -> None:
    """The data of an error are an object with a message, and optionally a type and data."""
    for reply in (await _answered(bench, REFUSAL), await _answered(bench, DOWN)):
        error = data_of(reply)
        is_object = isinstance(error, dict) and isinstance(error.get("message"), str) and bool(error["message"])
        expect(is_object, "an error object with a message", described([reply]))
        if isinstance(error, dict):
            expect(isinstance(error.get("type", ""), str), "a text as type of the error", error["type"])
            expect(isinstance(error.get("data", {}), dict), "an object as data of the error", error["data"])


async def counts_calls(bench: ContractBench) -> None:
    """``calls`` is the number of calls of the service within the attempt."""
    case = bench.service.case(DOWN)
    reply = await bench.reply_to(await bench.call(case))
    expect(reply.calls == len(case.calls), f"calls {len(case.calls)} in the reply", reply.calls)


async def repeats(bench: ContractBench) -> None:
    """The next attempt of a step calls the service again, and is answered for itself."""
    case = bench.service.case(DOWN)
    first = await bench.call(case)
    await bench.reply_to(first)
    before = len(case.calls)
    case.reply = ServiceReply(200, {"done": True})
    reply = await _repeat(bench, first)
    expect(len(case.calls) > before, "a call of the service by the second attempt", "none")
    expect(reply.outcome is Outcome.COMPLETED, "completed by the second attempt", described([reply]))


async def _repeat(bench: ContractBench, first: Request) -> ReplyEvent:
    second = msgspec.structs.replace(first, attempt=first.attempt + 1)
    await bench.scheduler.send(second)
    return await bench.reply_to(second)


async def _answered(bench: ContractBench, reply: ServiceReply) -> ReplyEvent:
    return await bench.reply_to(await bench.call(bench.service.case(reply)))


def _instant(text: str) -> float:
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return 0.0
