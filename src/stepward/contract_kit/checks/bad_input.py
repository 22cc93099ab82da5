"""Checks of input that an Agent cannot use, and of results that the broker does not take."""

from __future__ import annotations

import msgspec

from stepward.contract_kit.bench import PATIENCE, ContractBench, described, expect
from stepward.model.messages.requests import Outcome
from stepward.model.messages.signing import KEY_BYTES, STORE_BYTES, Signer, StoreIdentity
from stepward.transport.wire.encoding import join

BODIES = (
    b"",
    b"?",
    b"\xff\xfe",
    b"null",
    b'"text"',
    b"[",
    b"[null,5,[]]",
    b'[{"type":"stepward.request"}]',
    b'[{"specversion":"1.0","type":"com.example.other","id":"1","source":"/x"}]',
    b"[" * 10_000,
)
OTHER_STORE = StoreIdentity("f" * (2 * STORE_BYTES), b"\0" * KEY_BYTES)


async def survives_bad_bodies(bench: ContractBench) -> None:
    """Messages that cannot be read neither end the Agent nor keep it from the next request."""
    for body in BODIES:
        await bench.scheduler.send_body(body)
        await bench.echoed()
    if bench.process is not None:
        expect(bench.process.is_running, "the Agent to go on", "its process has ended")


async def answers_beside_bad(bench: ContractBench) -> None:
    """The readable requests of a batch are answered, whatever stands beside them."""
    request = bench.scheduler.request("echo", "beside")
    await bench.scheduler.send_body(join([b"5", b'{"type":"stepward.request"}', bench.scheduler.encoded(request)]))
    await bench.reply_to(request)


async def drops_other_stores(bench: ContractBench) -> None:
    """A request of another store is neither performed nor answered."""
    case = bench.service.case()
    request = bench.scheduler.request("call", case.body)
    await bench.scheduler.send(request, signer=Signer(OTHER_STORE))
    await bench.quiet()
    expect(not case.calls, "no call for a request of another store", f"{len(case.calls)}")
    replies = bench.scheduler.arrival.replies(request)
    expect(not replies, "no reply to a request of another store", described(replies))


async def fails_oversized(bench: ContractBench) -> None:
    """A result that is larger than the broker takes makes the step fail, once and for all."""
    size = bench.scheduler.limit + 1
    request = bench.scheduler.request("fill", size)
    await bench.scheduler.send(request)
    reply = await bench.reply_to(request, seconds=2 * PATIENCE)
    expect(reply.outcome is Outcome.FAILED, f"failed for a result of {size:,} bytes", described([reply]))
    error = msgspec.json.decode(bytes(reply.data)) if isinstance(reply.data, msgspec.Raw) else None
    expect(isinstance(error, dict) and bool(error.get("message")), "an error with a message", described([reply]))
    expect(reply.maybedone, "maybedone, as the operation was performed", "false or none")
    await bench.echoed()
