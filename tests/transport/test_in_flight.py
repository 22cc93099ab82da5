"""What a process holds of a queue from which many take."""

from __future__ import annotations

from stepward.transport.queues.in_flight import InFlight

FOREVER = float("inf")


def held(*messages: tuple[bytes, int], until: float = FOREVER) -> InFlight[bytes]:
    holdings: InFlight[bytes] = InFlight()
    for body, tries in messages:
        holdings.add(body, body, tries, until)
    return holdings


def given(holdings: InFlight[bytes], limit: int = 9, now: float = 0.0) -> list[bytes]:
    return [each.body for each in holdings.give(limit, now, 30.0)]


def test_fresh_ones_are_given_together_and_what_returned_alone() -> None:
    holdings = held((b"1", 1), (b"2", 1), (b"3", 2), (b"4", 3), (b"5", 1))
    assert holdings.has_returned
    assert [given(holdings) for _ in range(5)] == [[b"1", b"2"], [b"3"], [b"4"], [b"5"], []]
    assert not holdings.has_returned


def test_no_more_is_given_than_there_is_room_for() -> None:
    holdings = held((b"1", 1), (b"2", 1), (b"3", 1))
    assert (given(holdings, 2), given(holdings, 2)) == ([b"1", b"2"], [b"3"])


def test_a_lease_ends_with_the_brokers_own() -> None:
    holdings = held((b"1", 1), until=10.0)
    holdings.add(b"2", b"2", 1, FOREVER)
    assert [each.taken_until for each in holdings.give(9, 5.0, 30.0)] == [10.0, 35.0]


def test_messages_whose_lease_ended_before_taking_are_dropped() -> None:
    holdings = held((b"1", 1), until=10.0)
    assert given(holdings, now=10.0) == []
    assert holdings.clear() == []


def test_all_that_returned_but_the_first_is_set_aside() -> None:
    holdings = held((b"1", 2), (b"2", 1), (b"3", 2), (b"4", 5))
    assert [each.body for each in holdings.set_aside()] == [b"3", b"4"]
    assert (given(holdings), given(holdings)) == ([b"2"], [b"1"])


def test_settled_and_expired_messages_are_reported_once() -> None:
    holdings = held((b"1", 1), (b"2", 1), (b"3", 1))
    one, two, three = [each.token for each in holdings.give(9, 0.0, 30.0)]
    assert holdings.settle([one, one, 99]) == [b"1"]
    assert holdings.extend([two, one], 100.0) == [b"2"]
    assert holdings.lapsed(30.0) == [b"3"]
    assert (holdings.given(three), holdings.given(two) is None) == (None, False)
    assert holdings.lapsed(100.0) == [b"2"]
    assert len(holdings) == 0
