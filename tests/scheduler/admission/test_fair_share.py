"""How the room of an Agent is divided between Schedulers: pure, and for all demands."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepward.model.agents import AgentStanding
from stepward.scheduler.admission.fair_share import Room, fair_share, room

NAMES = [f"s{number}" for number in range(6)]
DEMANDS = st.dictionaries(st.sampled_from(NAMES), st.integers(0, 200), min_size=1)
SUSPENDED = AgentStanding(name="bank", suspended_at=1.0, suspended_by="ada")


def others(demands: dict[str, int], me: str) -> dict[str, int]:
    return {name: demand for name, demand in demands.items() if name != me}


def shares(capacity: int, demands: dict[str, int]) -> dict[str, int]:
    """What each may ask for, when each knows of all."""
    return {name: fair_share(capacity, others(demands, name), name) for name in demands}


def used(capacity: int, demands: dict[str, int]) -> dict[str, int]:
    return {name: min(demands[name], share) for name, share in shares(capacity, demands).items()}


@given(st.integers(0, 300), DEMANDS)
def test_together_they_ask_for_no_more_than_there_is_room_for(capacity: int, demands: dict[str, int]) -> None:
    asking = sum(demand > 0 for demand in demands.values())
    if capacity:
        assert sum(used(capacity, demands).values()) <= max(capacity, asking)


@given(st.integers(1, 300), DEMANDS)
def test_no_room_is_left_while_a_scheduler_asks_for_it(capacity: int, demands: dict[str, int]) -> None:
    assert sum(used(capacity, demands).values()) >= min(capacity, sum(demands.values()))


@given(st.integers(1, 300), DEMANDS)
def test_a_scheduler_that_gets_less_than_it_asks_for_gets_as_much_as_any(
    capacity: int, demands: dict[str, int]
) -> None:
    found = used(capacity, demands)
    for name, demand in demands.items():
        if found[name] < demand:
            assert found[name] >= max(found.values()) - 1


@given(st.integers(1, 300), DEMANDS, st.sampled_from(NAMES))
def test_there_is_one_for_each_and_all_for_one_alone(capacity: int, demands: dict[str, int], me: str) -> None:
    assert fair_share(capacity, others(demands, me), me) >= 1
    assert fair_share(capacity, {}, me) == capacity
    assert fair_share(capacity, dict.fromkeys(NAMES, 0), me) == capacity


def test_an_odd_place_goes_to_the_first() -> None:
    assert shares(10, {"a": 99, "b": 99, "c": 99}) == {"a": 4, "b": 3, "c": 3}
    assert shares(10, {"a": 2, "b": 99, "c": 99}) == {"a": 4, "b": 4, "c": 4}
    assert fair_share(0, {}, "a") == 0


@pytest.mark.parametrize("capacity", [0, 10])
def test_a_suspended_agent_has_no_room(capacity: int) -> None:
    assert room(capacity, SUSPENDED, {}, "a", 5.0) == Room(0, is_barred=True)


@pytest.mark.parametrize(
    ("now", "probe_by", "requests"),
    [(5.0, None, 0), (20.0, None, 1), (25.0, None, 1), (5.0, "i1", 0), (20.0, "i1", 1)],
    ids=["while it is open", "when it asks", "until somebody probes", "while somebody probes", "who probed is late"],
)
def test_behind_an_open_breaker_there_is_room_for_one_that_finds_out(
    now: float, probe_by: str | None, requests: int
) -> None:
    standing = AgentStanding(name="bank", opened_at=1.0, asks_at=20.0, probe_by=probe_by)
    assert room(10, standing, {}, "a", now) == Room(requests, is_barred=True)


def test_of_several_schedulers_the_first_that_asks_finds_out() -> None:
    standing = AgentStanding(name="bank", opened_at=1.0, asks_at=20.0)
    asking = {"a": 0, "b": 3, "c": 3}
    found = {me: room(10, standing, others(asking, me), me, 30.0).requests for me in asking}
    assert {me for me, count in found.items() if count and asking[me]} == {"b"}


def test_a_breaker_left_open_by_instances_that_are_gone_hides_nothing() -> None:
    standing = AgentStanding(name="bank", opened_at=1.0, asks_at=20.0)
    assert room(0, standing, {}, "a", 30.0) == Room(0, is_barred=False)
