from __future__ import annotations

from collections.abc import Sequence

from stepward.transport.broker.consuming.unacked import FORGOTTEN_SECONDS, Unacked
from stepward.transport.contract import Delivery
from tests.transport.messages import request


def boxes(*tasks: str) -> Unacked[str]:
    made: Unacked[str] = Unacked()
    made.add("1", "first", 10.0, [request(task) for task in tasks], is_spoilt=False)
    return made


def tasks(found: Sequence[Delivery]) -> list[str]:
    return [delivery.message.task for delivery in found]


def test_a_broker_message_is_acknowledged_when_everything_in_it_is_settled() -> None:
    held = boxes("a", "b")
    first, second = held.take(9, 0.0)
    held.settle([first.token, first.token])
    assert held.done == []
    held.settle([second.token])
    assert held.done == ["first"]


def test_a_message_with_a_lost_acknowledgement_is_acknowledged_again() -> None:
    held = boxes("a")
    held.settle([held.take(9, 0.0)[0].token])
    held.done.clear()
    assert held.knows("1")
    held.again("1", "second", 20.0)
    assert (held.done, held.take(9, 0.0)) == (["second"], [])


def test_a_redelivery_gives_out_unsettled_messages_under_new_tokens() -> None:
    held = boxes("a", "b")
    first, second = held.take(9, 0.0)
    held.settle([first.token])
    held.again("1", "second", 20.0)
    (again,) = held.take(9, 15.0)
    assert (again.message, again.leased_until) == (second.message, 20.0)
    held.settle([second.token])
    assert held.extend([second.token], 30.0) == []
    assert held.done == []
    held.settle([again.token])
    assert held.done == ["second"]


def test_messages_that_waited_past_their_lease_are_dropped() -> None:
    assert boxes("a").take(9, 10.0) == []


def test_a_box_lapses_once_until_it_comes_again() -> None:
    held = boxes("a")
    assert [held.lapsed(9.9), held.lapsed(10.0), held.lapsed(11.0)] == [[], ["first"], []]
    held.again("1", "second", 20.0)
    assert held.lapsed(20.0) == ["second"]


def test_messages_long_delivered_elsewhere_are_forgotten() -> None:
    held = boxes("a")
    held.prune(9.9 + FORGOTTEN_SECONDS)
    assert held.knows("1")
    held.prune(10.0 + FORGOTTEN_SECONDS)
    assert not held.knows("1")


def test_messages_that_could_not_be_returned_wait_in_front() -> None:
    held = boxes("a", "b")
    back = held.take_back(0.0)
    assert len(held) == 0
    held.add("2", "other", 10.0, [request("c")], is_spoilt=False)
    held.keep((box, place) for box, place, _ in back)
    assert tasks(held.take(9, 0.0)) == ["a", "b", "c"]


def test_a_redelivery_during_its_return_is_not_given_out() -> None:
    held = boxes("a", "b")
    back = held.take_back(0.0)
    held.again("1", "second", 20.0)
    (box, place, _), _ = back
    held.settle_place(box, place)
    assert [message.task for _, _, message in held.take_back(0.0)] == ["b"]
    held.again("1", "third", 20.0)
    held.settle_place(box, 1)
    assert (held.take(9, 0.0), held.done) == ([], ["third"])


def test_a_redelivery_during_a_failed_return_is_given_out_once() -> None:
    held = boxes("a", "b")
    back = held.take_back(0.0)
    held.again("1", "second", 20.0)
    assert tasks(held.take(1, 0.0)) == ["a"]
    held.keep((box, place) for box, place, _ in back)
    assert tasks(held.take(9, 0.0)) == ["b"]


def test_a_settled_message_of_a_waiting_batch_is_skipped() -> None:
    held = boxes("a", "b")
    (box, place, _), _ = held.take_back(0.0)
    held.again("1", "second", 20.0)
    held.settle_place(box, place)
    assert tasks(held.take(9, 0.0)) == ["b"]


def test_messages_that_waited_past_their_lease_are_not_returned() -> None:
    held = boxes("a")
    assert held.take_back(10.0) == []
    assert len(held) == 0


def test_a_spoilt_box_is_done_once_that_is_buried() -> None:
    held: Unacked[str] = Unacked()
    box = held.add("1", "first", 10.0, [], is_spoilt=True)
    assert held.done == []
    held.buried(box)
    assert held.done == ["first"]


def test_an_expired_request_is_settled_and_counted() -> None:
    held: Unacked[str] = Unacked()
    held.add("1", "first", 10.0, [request("a", complete_by=5.0)], is_spoilt=False)
    assert (held.take(9, 5.0), held.expired, held.done) == ([], 1, ["first"])


def test_only_untouched_broker_messages_are_returned_at_the_end() -> None:
    held = boxes("a", "b")
    held.add("2", "other", 10.0, [request("c")], is_spoilt=False)
    held.take(1, 0.0)
    assert held.clear() == ["other"]
