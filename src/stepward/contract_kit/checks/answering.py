"""Checks of plain requests: announcements, results, proofs, undo, unknown operations."""

from __future__ import annotations

import msgspec
from msgspec import UNSET

from stepward.contract_kit.bench import PATIENCE, CheckSkipped, ContractBench, described, expect
from stepward.contract_kit.checked_service import UNDO
from stepward.contract_kit.reply_reader import data_of
from stepward.model.messages.requests import Outcome
from stepward.transport.wire.encoding import join

VALUES: list[object] = [None, True, 0, -1.5, 2**53 - 1, "é𝄞\n\"'", [], {"a": {"b": [1, None]}}]
ANNOUNCED_PER_LEASE = 3
SLACK = 2.0
"""How many times later than due an announcement may come: processes start, and machines are busy."""
MORE = {"tenant": "acme", "sampled": True, "datacontenttype": "application/json"}
IN_BATCH = 8
"""Requests in the batch that is to be answered whole."""


async def announces(bench: ContractBench) -> None:
    """The process announces its capacity each third of a lease."""
    if bench.options.reports_to_store:
        raise CheckSkipped("an Agent in Python reports its capacity to the store")
    announced = bench.scheduler.announcements
    seen = len(announced)
    pause = bench.options.lease / ANNOUNCED_PER_LEASE
    await bench.changes.until(lambda: len(announced) >= seen + 2, 2 * pause * SLACK)
    expect(
        len(announced) >= seen + 2,
        f"announcements of capacity every {pause:g} s",
        f"{len(announced) - seen} in {2 * pause * SLACK:g} s",
    )
    _, _, health = announced[-1]
    expect(health.capacity > 0, "a capacity above 0", health.capacity)


async def answers(bench: ContractBench) -> None:
    """A request is answered with the operation's result, whatever JSON that is."""
    reply = await bench.ask("echo", VALUES)
    expect(reply.outcome is Outcome.COMPLETED, "the outcome completed", described([reply]))
    expect(data_of(reply) == VALUES, f"{msgspec.json.encode(VALUES).decode()} back", described([reply]))
    empty = await bench.ask("echo", None)
    expect(data_of(empty) is None, "null back, as data", "no data" if data_of(empty) is UNSET else described([empty]))


async def proves(bench: ContractBench) -> None:
    """A reply repeats the request's store and proof, and names the Agent in its source."""
    request = bench.scheduler.request("echo", 1)
    await bench.scheduler.send(request)
    reply = await bench.reply_to(request)
    sent = msgspec.json.decode(bench.scheduler.encoded(request))
    expect(reply.store == sent["store"], f"the request's store {sent['store']!r} in the reply", repr(reply.store))
    expect(reply.proof == sent["proof"], f"the request's proof {sent['proof']!r} in the reply", repr(reply.proof))
    source = bench.scheduler.source
    expect(reply.source == source, f"the source {source!r} in the reply", repr(reply.source))


async def ignores_attributes(bench: ContractBench) -> None:
    """A request with attributes that the Agent does not know is answered."""
    request = bench.scheduler.request("echo", "known")
    event = msgspec.json.decode(bench.scheduler.encoded(request)) | MORE
    await bench.scheduler.send_body(join([msgspec.json.encode(event)]))
    await bench.reply_to(request)


async def answers_batches(bench: ContractBench) -> None:
    """Each request of a batch is answered once."""
    requests = [bench.scheduler.request("echo", number) for number in range(IN_BATCH)]
    await bench.scheduler.send(*requests)
    for request in requests:
        await bench.reply_to(request)
    await bench.quiet()
    numbers = [len(bench.scheduler.arrival.replies(request)) for request in requests]
    expect(numbers == [1] * IN_BATCH, "one reply to each request of a batch", f"{numbers} replies")


async def undoes(bench: ContractBench) -> None:
    """A request with ``undo`` calls the undo, with the result before the arguments, and names what it undoes."""
    case = bench.service.case()
    forward = bench.scheduler.request("call", case.body)
    request = bench.scheduler.request("call", {"done": 1}, case.body, undoes=forward)
    await bench.scheduler.send(request)
    await bench.called(case)
    (call, *more) = case.calls
    expect(call.path == UNDO and not more, f"one call of {UNDO}", ", ".join(each.path for each in case.calls))
    expected = {"result": {"done": 1}, "argument": case.body}
    expect(call.body == expected, f"the body {expected}", call.body)
    named = call.headers.get("stepward-undoes")
    expect(named == request.undoes, f"the header Stepward-Undoes with {request.undoes!r}", repr(named))
    reply = await bench.reply_to(request)
    expect(reply.outcome is Outcome.COMPLETED, "the outcome completed", described([reply]))


async def refuses_unknown(bench: ContractBench) -> None:
    """A request for an operation that the Agent does not offer fails for good."""
    reply = await bench.ask("no_such_operation", 1)
    expect(reply.outcome is Outcome.FAILED, "the outcome failed", described([reply]))


async def reports_progress(bench: ContractBench) -> None:
    """Progress of an operation arrives before its reply, with the request's store and proof."""
    values = [{"done": 1}, {"done": 2}]
    request = bench.scheduler.request("report", values)
    await bench.scheduler.send(request)
    reply = await bench.reply_to(request, seconds=PATIENCE)
    if reply.outcome is Outcome.FAILED:
        raise CheckSkipped(f"the Agent does not offer {request.operation}: an Agent need not report progress")
    expect(reply.outcome is Outcome.COMPLETED, "the outcome completed", described([reply]))
    sent = msgspec.json.decode(bench.scheduler.encoded(request))
    found = bench.scheduler.arrival.progress(request)
    expect(bool(found), "progress of the operation report", "none")
    data = [data_of(event) for event in found]
    expect(all(each in values for each in data), f"the progress {values}, or some of it", data)
    proven = all(event.store == sent["store"] and event.proof == sent["proof"] for event in found)
    expect(proven, "the request's store and proof in each progress message", "others")
    sources = {event.source for event in found}
    expect(sources == {bench.scheduler.source}, f"the source {bench.scheduler.source!r}", ", ".join(sorted(sources)))
