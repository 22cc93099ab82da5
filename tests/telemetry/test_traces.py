"""Traces: spans of tasks, attempts and Agents at a real collector, linked to the callers that submitted."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.sampling import Decision, Sampler, SamplingResult

from stepward import (
    Accepted,
    Agent,
    App,
    Message,
    Queues,
    TaskFailed,
    Transaction,
    Unrecoverable,
    current_step,
    step,
    workflow,
)
from stepward.errors import SettingsError
from stepward.events import Event
from stepward.model.tracing.submission_span import current_traceparent, linked
from stepward.telemetry.process_telemetry import headers_of
from tests.telemetry.collector import Received, attributes, collector

CANARY = "secret-4711"
PARENT = f"00-{1:032x}-{1:016x}-01"
TWENTY = {f"a{number}": "x" for number in range(20)}
pay = Agent("pay")
outgoing: list[str] = []
inner: list[str] = []
released = asyncio.Event()
"""Set by the first call for the card ``slow``, which never returns."""


@pay.operation(complete_by="20s")
async def charge(card: str) -> str:
    outgoing.append(current_step().headers()["traceparent"])
    context = trace.get_current_span().get_span_context()
    inner.append(f"00-{context.trace_id:032x}-{context.span_id:016x}-01")
    if card == "slow" and not released.is_set():
        released.set()
        await asyncio.Event().wait()
    if card == "bad":
        raise Unrecoverable(f"card {CANARY} was refused")
    return card


@step
async def note(card: str) -> str:
    outgoing.append(current_step().headers()["traceparent"])
    return card


@workflow
async def order(card: str) -> str:
    return await note(await charge(card))


@workflow
async def orders() -> list[str]:
    return [*await asyncio.gather(order("one"), order("two"))]


@pytest.fixture
def received() -> Iterator[Received]:
    outgoing.clear()
    inner.clear()
    released.clear()
    with collector() as found:
        yield found


class CurrentExporter(SpanProcessor):
    """Exports to the collector of the test that runs: a process has one provider of OpenTelemetry's for ever."""

    target: SpanProcessor | None = None

    def on_end(self, span: ReadableSpan) -> None:
        if self.target is not None:
            self.target.on_end(span)


exporter = CurrentExporter()


class WhileExported(Sampler):
    """Samples nothing once the test is over: later tests in this process run untraced."""

    def should_sample(self, *args: Any, **kwargs: Any) -> SamplingResult:
        return SamplingResult(Decision.DROP if exporter.target is None else Decision.RECORD_AND_SAMPLE)

    def get_description(self) -> str:
        return "while a test exports"


@pytest.fixture(scope="module")
def provider() -> TracerProvider:
    """An application that traces with OpenTelemetry's SDK."""
    provider = TracerProvider(sampler=WhileExported(), resource=Resource({"service.name": "front"}))
    provider.add_span_processor(exporter)
    trace.set_tracer_provider(provider)
    return provider


@pytest.fixture
def tracer(received: Received, provider: TracerProvider) -> Iterator[trace.Tracer]:
    """The tracer of such an application, with the same collector."""
    exporter.target = SimpleSpanProcessor(OTLPSpanExporter(f"{received.url}/v1/traces"))
    yield provider.get_tracer("front")
    exporter.target.shutdown()
    exporter.target = None


def shop(tmp_path: Path, **settings: Any) -> App:
    return App("shop", workflows=[order, orders], agents=[pay], store=f"sqlite:///{tmp_path}/shop.db", **settings)


def named(spans: list[Span], name: str) -> list[Span]:
    return [span for span in spans if span.name == name]


def ids(span: Span) -> tuple[str, str]:
    return span.trace_id.hex(), span.span_id.hex()


def is_real(traceparent: str, spans: list[Span]) -> bool:
    _, trace_id, span_id, _ = traceparent.split("-")
    return (trace_id, span_id) in [ids(span) for span in spans]


async def traced(received: Received, app: App, *submitted: tuple[Any, ...]) -> list[Span]:
    """The spans once these tasks have ended and the process has stopped."""
    async with app.running(), app.client() as client:
        for flow, *arguments in submitted:
            handle = await client.submit(flow, *arguments)
            with contextlib.suppress(TaskFailed):
                await handle.result("20s")
    return received.spans


async def test_a_task_is_a_trace_with_a_span_for_each_attempt(received: Received, tmp_path: Path) -> None:
    app = shop(tmp_path, traces=received.url)
    async with app.running(), app.client() as client:
        handle = await client.submit(order, "good", id="order-1")
        assert await handle.result("20s") == "good"
        uid = (await handle.status()).uid
    (root,) = named(received.spans, "order")
    assert root.trace_id.hex() == uid.replace("-", "")
    assert (root.parent_span_id, root.kind) == (b"", Span.SPAN_KIND_INTERNAL)
    assert attributes(root) == {
        "stepward.task.id": "order-1",
        "stepward.workflow": "order",
        "stepward.version": "1",
        "stepward.state": "processed",
    }
    attempts = [*named(received.spans, "pay.charge"), *named(received.spans, "note")]
    assert [(span.trace_id, span.parent_span_id) for span in attempts] == [(root.trace_id, root.span_id)] * 2
    assert attributes(attempts[0]) == {"stepward.step": "pay.charge/1", "stepward.attempt": 1}
    assert all(root.start_time_unix_nano <= span.start_time_unix_nano <= span.end_time_unix_nano for span in attempts)
    assert attempts[-1].end_time_unix_nano <= root.end_time_unix_nano
    assert received.headers[0]["user-agent"] == "stepward"


async def test_the_traceparent_that_goes_out_is_the_span_of_the_attempt(received: Received, tmp_path: Path) -> None:
    trace.get_tracer("the API is imported, so the attempt is the parent of what the operation traces")
    spans = await traced(received, shop(tmp_path, traces=received.url), (order, "good"))
    assert len(outgoing) == 2
    assert all(is_real(each, spans) for each in outgoing)
    assert inner == outgoing[:1]


async def test_children_are_in_the_trace_of_their_parent_with_spans_of_their_own(
    received: Received, tmp_path: Path
) -> None:
    spans = await traced(received, shop(tmp_path, traces=received.url), (orders,))
    (root,) = named(spans, "orders")
    children = [span for span in named(spans, "order") if span.kind == Span.SPAN_KIND_INTERNAL]
    starts = {span.span_id for span in spans if span.parent_span_id == root.span_id}
    assert {child.parent_span_id for child in children} <= starts
    assert {span.trace_id for span in spans} == {root.trace_id}
    assert len({span.span_id for span in spans}) == len(spans)
    assert len(named(spans, "pay.charge")) == 2


async def test_a_failure_shows_its_type_and_no_payload(received: Received, tmp_path: Path) -> None:
    spans = await traced(received, shop(tmp_path, traces=received.url), (order, "bad"))
    (attempt,), (root,) = named(spans, "pay.charge"), named(spans, "order")
    assert (attempt.status.code, attempt.status.message) == (Status.STATUS_CODE_ERROR, "Unrecoverable")
    assert root.status.code == Status.STATUS_CODE_ERROR
    assert attributes(root)["stepward.state"] == "error"
    assert received.bodies
    assert not any(CANARY.encode() in body for body in received.bodies)


async def test_the_span_of_a_task_links_to_the_callers(
    received: Received, tracer: trace.Tracer, tmp_path: Path
) -> None:
    app = shop(tmp_path, traces=received.url)
    async with app.running(), app.client() as client:
        with tracer.start_as_current_span("checkout"):
            handle = await client.submit(order, "good")
        await handle.result("20s")
        assert "traceparent" in (await handle.status()).attributes
    (caller,), (submission,) = named(received.of("front"), "checkout"), named(received.of("front"), "submit order")
    assert submission.parent_span_id == caller.span_id
    assert submission.kind == Span.SPAN_KIND_PRODUCER
    (linked,) = named(received.of("shop"), "order")
    assert [(link.trace_id, link.span_id) for link in linked.links] == [(caller.trace_id, submission.span_id)]
    assert [(link.trace_id, link.span_id) for link in submission.links] == [(linked.trace_id, linked.span_id)]


async def test_a_posted_message_carries_the_callers_span_over_the_queue(
    received: Received, tracer: trace.Tracer, tmp_path: Path
) -> None:
    app = shop(tmp_path, traces=received.url)

    async def accept(message: Message, transaction: Transaction) -> Accepted:
        return Accepted(order, message.read(str))

    app.submission("orders", accept=accept)
    async with app.running(), Queues(app.settings.store, app="shop") as queues:
        with tracer.start_as_current_span("checkout"):
            await queues.post("orders", "good", id="order-1")
        spans = await asyncio.to_thread(received.until, lambda spans: bool(named(spans, "order")))
    (root,) = named(spans, "order")
    (posted,) = named(spans, "post orders")
    assert [(link.trace_id, link.span_id) for link in root.links] == [(posted.trace_id, posted.span_id)]


async def test_an_agent_that_is_asked_over_a_queue_has_a_span_below_the_attempt(
    received: Received, tmp_path: Path
) -> None:
    spans = await traced(received, shop(tmp_path, traces=received.url, transport="store"), (order, "good"))
    (attempt,) = named(spans, "pay.charge")
    (performed,) = named(spans, "pay.charge at pay")
    assert (performed.trace_id, performed.parent_span_id) == (attempt.trace_id, attempt.span_id)
    assert performed.kind == Span.SPAN_KIND_CONSUMER


async def test_an_attempt_that_another_process_began_has_its_span_after_the_takeover(
    received: Received, tmp_path: Path
) -> None:
    """The first process ends while it performs the attempt, and traces nothing; the second one goes on with it."""
    first = shop(tmp_path, transport="store")
    async with first.running(drain="0s"), first.client() as client:
        handle = await client.submit(order, "slow", id="order-1")
        async with asyncio.timeout(20):
            await released.wait()
        (step,) = await handle.steps()
        uid = (await handle.status()).uid
    second = shop(tmp_path, transport="store", traces=received.url)
    async with second.running(), second.client() as client:
        assert await client.task("order-1").result("20s") == "slow"
    (attempt,), (root,) = named(received.spans, "pay.charge"), named(received.spans, "order")
    assert attempt.trace_id.hex() == uid.replace("-", "")
    assert attempt.parent_span_id == root.span_id
    assert step.started_at is not None
    assert attempt.start_time_unix_nano == int(step.started_at * 1e9)
    assert outgoing[0] == outgoing[1]
    assert is_real(outgoing[0], received.spans)


async def test_a_collector_that_is_not_reached_holds_up_nothing_and_is_reported_once(
    received: Received, tmp_path: Path
) -> None:
    reported: list[Event] = []
    app = shop(tmp_path, traces=received.url)
    app.observers.add(lambda event: reported.append(event) if event.name == "traces.unavailable" else None)
    received.status = 503
    async with app.running(), app.client() as client:
        for _ in range(3):
            await (await client.submit(order, "good")).result("20s")
        async with asyncio.timeout(20):
            while not reported:  # noqa: ASYNC110  the exporting thread sets no event of ours
                await asyncio.sleep(0.01)
        received.status = 200
    assert len(named(received.spans, "order")) == 3
    assert len(reported) == 1
    assert "expected 200, found 503" in reported[0].fields["error"]


async def test_a_batch_that_is_refused_is_dropped(received: Received, tmp_path: Path) -> None:
    reported: list[Event] = []
    app = shop(tmp_path, traces=f"{received.url}/elsewhere")
    app.observers.add(lambda event: reported.append(event) if event.name == "traces.unavailable" else None)
    await traced(received, app, (order, "good"))
    assert [event.fields["dropped"] for event in reported] == [1]
    assert received.spans == []


async def test_without_the_setting_nothing_is_measured(tmp_path: Path) -> None:
    seen: list[Event] = []
    app = shop(tmp_path)
    app.observers.add(seen.append)
    async with app.running(), app.client() as client:
        await (await client.submit(order, "good")).result("20s")
        assert not app.observers.measuring
    assert not [event for event in seen if event.name in ("turn.committed", "attempt.taken_over")]


@pytest.mark.parametrize(
    "url", ["collector:4318", "ftp://collector", "http://", "http://u:p@c:4318", "http://c/?a=b", 7]
)
def test_what_is_no_collector_is_refused(tmp_path: Path, url: object) -> None:
    with pytest.raises(SettingsError, match=r"traces.*: expected http://HOST:PORT"):
        shop(tmp_path, traces=url)


@pytest.mark.parametrize(
    ("attributes", "traceparent"),
    [({}, None), ({}, 7), ({}, f"00-{0:032x}-{1:016x}-01"), ({"traceparent": "mine"}, PARENT), (TWENTY, PARENT)],
)
def test_a_submission_keeps_its_attributes_where_there_is_no_span_or_no_room(
    attributes: dict[str, str], traceparent: object
) -> None:
    assert linked(attributes, traceparent) == attributes
    assert linked({"a": 1}, PARENT) == {"a": 1, "traceparent": PARENT}
    with trace.use_span(trace.INVALID_SPAN):
        assert current_traceparent() is None


def test_headers_of_the_collector_are_read_in_opentelemetrys_form() -> None:
    assert headers_of("") == {}
    assert headers_of("Authorization=Basic%20abc=, x-tenant = shop,broken") == {
        "authorization": "Basic abc=",
        "x-tenant": "shop",
    }
