"""Which spans are made of what a Scheduler reports, and that batches are OTLP's messages."""

from __future__ import annotations

from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from stepward.events import Event
from stepward.model.states import StepState
from stepward.store.contract import Finish, Watch
from stepward.telemetry.traces import task_traces
from stepward.telemetry.traces.spans import SpanWriter, length
from stepward.telemetry.traces.task_traces import TaskTraces
from tests.telemetry.collector import attributes

UID = "0192f3a1-5c1d-7a6e-9d0b-3f6a2b1c4d5e"
PLACE = (UID, 1, "pay.charge/1")


class Traced:
    """A Scheduler's reports, and the spans that they made."""

    def __init__(self) -> None:
        self.writer = SpanWriter({"service.name": "shop"}, "1.0", size=1_000, full=lambda: None)
        self._traces = TaskTraces(self.writer, agents_apart=False)

    def turn(self, **fields: Any) -> None:
        """Report a turn that committed."""
        self._traces(Event("turn.committed", {"started": [], "finished": [], "gave_up": [], "ended": []} | fields))

    def taken_over(self, attempt: int, at: float) -> None:
        """Report an attempt that another process began."""
        self._traces(Event("attempt.taken_over", {"place": PLACE, "attempt": attempt, "at": at}))

    def spans(self) -> list[Span]:
        """The spans of the batch, as OpenTelemetry reads them."""
        request = ExportTraceServiceRequest.FromString(self.writer.take())
        (resource,) = request.resource_spans
        (scope,) = resource.scope_spans
        assert (scope.scope.name, scope.scope.version) == ("stepward", "1.0")
        return list(scope.spans)


def finished(attempt: int, at: float) -> tuple[tuple[str, int, str], Finish]:
    values: dict[str, Any] = {"output": b"1", "error": None, "in_doubt": False, "ordinal": 1, "finished_at": at}
    return PLACE, Finish(task=UID, run=1, key=PLACE[2], attempt=attempt, state=StepState.COMPLETED, **values)


def gave_up(attempt: int, at: float) -> Watch:
    return Watch(UID, 1, PLACE[2], attempt, at, b'{"type":"Timeout","message":"card 4711"}', True)


def shown(span: Span) -> tuple[int, float, float, str]:
    """Attempt, start, end and error."""
    seconds = (span.start_time_unix_nano / 1e9, span.end_time_unix_nano / 1e9)
    return (attributes(span)["stepward.attempt"], *seconds, span.status.message)


def test_an_attempt_without_an_outcome_ends_where_the_next_one_begins() -> None:
    traced = Traced()
    traced.turn(started=[(PLACE, 1, 10.0)])
    traced.turn(started=[(PLACE, 2, 40.0)])
    traced.turn(finished=[finished(2, 45.0)])
    first, second = traced.spans()
    assert shown(first) == (1, 10.0, 40.0, "NoOutcome")
    assert shown(second) == (2, 40.0, 45.0, "")
    assert (first.status.code, second.status.code) == (Status.STATUS_CODE_ERROR, Status.STATUS_CODE_UNSET)
    assert first.span_id != second.span_id
    assert (first.trace_id, first.parent_span_id) == (second.trace_id, second.parent_span_id)


def test_an_attempt_that_gave_up_ends_at_once_with_its_error_and_without_its_message() -> None:
    traced = Traced()
    traced.turn(started=[(PLACE, 1, 10.0)], gave_up=[])
    traced.turn(gave_up=[gave_up(1, 12.0)])
    traced.turn(started=[(PLACE, 2, 60.0)])
    assert [shown(span) for span in traced.spans()] == [(1, 10.0, 12.0, "Timeout")]


def test_an_attempt_that_is_taken_over_keeps_the_start_of_its_row() -> None:
    traced = Traced()
    traced.taken_over(3, 7.0)
    traced.turn(finished=[finished(3, 9.0)])
    assert [shown(span) for span in traced.spans()] == [(3, 7.0, 9.0, "")]


def test_an_attempt_whose_start_is_not_known_has_no_span() -> None:
    traced = Traced()
    traced.turn(finished=[finished(1, 9.0)])
    assert traced.writer.count == 0


def test_the_starts_that_are_remembered_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_traces, "MOST_RUNNING", 2)
    traced = Traced()
    traced.turn(started=[((UID, 1, f"pay.charge/{number}"), 1, 1.0) for number in range(1, 4)])
    traced.turn(finished=[finished(1, 9.0)])
    assert traced.writer.count == 0


def test_a_batch_is_full_at_its_size() -> None:
    batches: list[bytes] = []
    writer = SpanWriter({}, "1", size=2, full=lambda: batches.append(writer.take()))
    traces = TaskTraces(writer, agents_apart=False)
    for number in range(5):
        turn = {"started": [(PLACE, number + 1, float(number))], "finished": [], "gave_up": [], "ended": []}
        traces(Event("turn.committed", turn))
    assert (len(batches), writer.count) == (2, 0)


@pytest.mark.parametrize(("size", "written"), [(0, b"\0"), (127, b"\x7f"), (128, b"\x80\x01"), (300, b"\xac\x02")])
def test_a_length_is_written_as_protocol_buffers_write_integers(size: int, written: bytes) -> None:
    assert length(bytes(size)) == written
