"""Messages at a broker are recorded by kind, once however often they arrive."""

from __future__ import annotations

import json

import pytest

from showcase.faults.traffic import Kind, Traffic


def noted(*bodies: object) -> dict[Kind, set[str]]:
    """The record of messages, without kinds of which there were none."""
    traffic = Traffic()
    for body in bodies:
        traffic.note(body if isinstance(body, bytes) else json.dumps(body).encode())
    return {kind: ids for kind, ids in traffic.ids.items() if ids}


def test_each_event_of_a_batch_is_noted() -> None:
    batch = [{"type": "stepward.request", "id": "1"}, {"type": "stepward.request", "id": "2"}]
    posted = {"type": "stepward.submission", "id": "order-1"}
    assert noted(batch, {"type": "stepward.reply", "id": "3"}, posted) == {
        Kind.REQUEST: {"1", "2"},
        Kind.REPLY: {"3"},
        Kind.SUBMISSION: {"order-1"},
    }


def test_a_redelivered_message_counts_once() -> None:
    event = {"type": "stepward.reply", "id": "1"}
    assert noted(event, [event, event]) == {Kind.REPLY: {"1"}}


@pytest.mark.parametrize("type_", ["stepward.request.received", "stepward.task.undone", "stepward.step.completed"])
def test_status_events_do_not_count_as_requests(type_: str) -> None:
    assert noted({"type": type_, "id": "1"}) == {Kind.EVENT: {"1"}}


@pytest.mark.parametrize("type_", ["stepward.revocation", "stepward.requests", "com.else", ""])
def test_other_messages_do_not_count(type_: str) -> None:
    assert noted({"type": type_, "id": "1"}) == {}


@pytest.mark.parametrize("body", [b"", b"\xff", b"[1]", b"{}", [[]], {"type": "stepward.reply"}])
def test_bodies_that_are_no_cloudevent_do_not_count(body: object) -> None:
    assert noted(body) == {}
