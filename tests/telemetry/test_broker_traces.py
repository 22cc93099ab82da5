"""Traces over brokers: the caller's span reaches the task, and the attempt's span the Agent, through real queues."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from opentelemetry import trace

from stepward import Accepted, App, Message, Queues, Transaction
from tests.programs import program
from tests.telemetry.collector import Received
from tests.telemetry.test_traces import is_real, named, order, outgoing, pay, provider, received, tracer
from tests.tiers import sampled
from tests.transport.brokers import SERVERS, clear, new_app

__all__ = ["provider", "received", "tracer"]
pytestmark = pytest.mark.servers


@pytest.fixture(params=sampled(("nats", "rabbitmq"), "nats"))
async def address(request: pytest.FixtureRequest) -> str:
    if request.param == "nats":
        return await asyncio.to_thread(SERVERS.nats)
    program("rabbitmq-server", "rabbitmq-server")
    return await asyncio.to_thread(SERVERS.rabbitmq)


async def test_a_trace_follows_a_posted_message_over_the_broker_to_the_service(
    address: str,
    received: Received,
    tracer: trace.Tracer,
    tmp_path: Path,
) -> None:
    name = new_app()
    app = App(
        name,
        workflows=[order],
        agents=[pay],
        store=f"sqlite:///{tmp_path}/shop.db",
        transport=address,
        traces=received.url,
    )

    async def accept(message: Message, transaction: Transaction) -> Accepted:
        return Accepted(order, message.read(str))

    app.submission("orders", accept=accept)
    outgoing.clear()
    try:
        async with asyncio.timeout(100), app.running(), Queues(address, app=name) as queues:
            with tracer.start_as_current_span("checkout"):
                await queues.post("orders", "good", id="order-1")
            await asyncio.to_thread(received.until, lambda spans: bool(named(spans, "order")))
    finally:
        await clear(address, name)
    spans = received.spans
    (caller,), (posted,) = named(spans, "checkout"), named(spans, "post orders")
    (root,), (attempt,) = named(spans, "order"), named(spans, "pay.charge")
    (performed,) = named(spans, "pay.charge at pay")
    assert (posted.trace_id, posted.parent_span_id) == (caller.trace_id, caller.span_id)
    assert [(link.trace_id, link.span_id) for link in root.links] == [(posted.trace_id, posted.span_id)]
    assert (performed.trace_id, performed.parent_span_id) == (attempt.trace_id, attempt.span_id)
    assert attempt.trace_id == root.trace_id
    assert len(outgoing) == 2
    assert all(is_real(traceparent, spans) for traceparent in outgoing)
