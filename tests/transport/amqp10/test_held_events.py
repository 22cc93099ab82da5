"""A reader that connects again holds events back whose predecessors may still return."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from stepward.transport.amqp10.application.event_order import HELD_SECONDS, EventOrder


class Reader:
    """A reader of single events, each named by its task and sequence, with a clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 0.0
        self._order: EventOrder[str] = EventOrder(lambda: self.now)
        self.opened = self._order.opened
        self.overdue = self._order.overdue

    def left(self, *names: str) -> None:
        """Its link ends before these were settled."""
        self._order.left([body(name) for name in names])

    def arrive(self, *names: str) -> Sequence[str]:
        """The events that are passed on as these arrive."""
        return [passed for name in names for passed in self._order.arrived(body(name), name)]


def body(name: str) -> bytes:
    """An event as a message."""
    return json.dumps({"id": name, "sequence": name.rpartition("/")[2]}).encode()


@pytest.fixture
def reader() -> Reader:
    """It has received t/1, and its link has ended."""
    reader = Reader()
    reader.opened()
    assert reader.arrive("t/1") == ["t/1"]
    reader.left()
    return reader


def test_the_time_counts_from_when_the_next_link_is_open(reader: Reader) -> None:
    """A broker that is started again may be away for longer than events are held."""
    reader.now += 2 * HELD_SECONDS
    reader.opened()
    assert reader.arrive("t/3", "t/2", "t/4") == ["t/2", "t/3", "t/4"]


def test_an_event_whose_predecessor_does_not_return_is_passed_on_in_the_end(reader: Reader) -> None:
    reader.opened()
    assert reader.arrive("t/4", "t/3") == []
    assert reader.overdue() == []
    reader.now += HELD_SECONDS
    assert reader.overdue() == ["t/3", "t/4"]


def test_events_that_were_not_settled_come_in_order_once_more(reader: Reader) -> None:
    reader.opened()
    assert reader.arrive("t/2", "t/3") == ["t/2", "t/3"]
    reader.left("t/2", "t/3")
    reader.opened()
    assert reader.arrive("t/3", "t/2") == ["t/2", "t/3"]


def test_the_first_link_of_a_reader_holds_nothing_back() -> None:
    """It cannot know what was read before."""
    reader = Reader()
    reader.opened()
    assert reader.arrive("t/7", "t/6") == ["t/7", "t/6"]
