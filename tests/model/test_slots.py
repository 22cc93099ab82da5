"""How the slots under an Agent's limit are divided: never more than the limit, and fairly."""

from __future__ import annotations

import random

import pytest

from stepward.model.limits.slot_shares import TURN_SECONDS, SlotClaim, SlotLease, fair_slots, granted


def lease(instance: str, slots: int = 0, wanted: int = 100, most: int = 100, *, alive: bool = True) -> SlotLease:
    return SlotLease(agent="pay", instance=instance, slots=slots, wanted=wanted, most=most, until=10, alive=alive)


def claim(wanted: int = 100, most: int = 100, busy: int = 0) -> SlotClaim:
    return SlotClaim(agent="pay", wanted=wanted, most=most, busy=busy, until=10)


@pytest.mark.parametrize(
    ("wants", "expected"),
    [
        ([100], [10]),
        ([100, 100], [5, 5]),
        ([1, 100], [1, 9]),
        ([0, 100], [1, 9]),
        ([0, 0], [5, 5]),
        ([2, 2, 100], [2, 2, 6]),
    ],
)
def test_each_gets_what_it_wants_up_to_a_fair_share_and_one_at_least(wants: list[int], expected: list[int]) -> None:
    leases = [lease(f"a{place}", wanted=wanted) for place, wanted in enumerate(wants)]
    assert list(fair_slots(10, leases, 0).values()) == expected


def test_the_slots_of_dead_instances_are_nobodys() -> None:
    assert fair_slots(10, [lease("dead", 4, alive=False), lease("a")], 0) == {"a": 6}


def test_an_instance_that_ends_has_no_share() -> None:
    assert fair_slots(10, [lease("ends", 4, wanted=0, most=0), lease("a")], 0) == {"ends": 0, "a": 10}


def test_fewer_slots_than_instances_go_round() -> None:
    leases = [lease(name) for name in "abc"]
    turns = [fair_slots(1, leases, turn * TURN_SECONDS) for turn in range(3)]
    assert sorted(max(shares, key=shares.__getitem__) for shares in turns) == ["a", "b", "c"]
    assert all(sum(shares.values()) == 1 for shares in turns)


def test_a_claim_gets_no_slot_that_another_holds() -> None:
    assert granted(10, [lease("a", 8)], claim(), "b", 0) == 2
    assert granted(10, [lease("dead", 10, alive=False)], claim(), "b", 0) == 0


def test_calls_that_run_keep_their_slots_when_the_limit_is_lowered() -> None:
    assert granted(2, [lease("a", 5), lease("b", 3)], claim(busy=3), "b", 0) == 3


def test_whatever_instances_claim_the_slots_never_exceed_the_limit() -> None:
    chance = random.Random(4)
    for _ in range(200):
        cap, held, busy = chance.randint(1, 12), dict[str, int](), dict[str, int]()
        dead = set[str]()
        for step in range(60):
            name = chance.choice("abcd")
            if name in dead:
                dead.discard(name)
                held.pop(name, None)
                busy.pop(name, None)
            elif chance.random() < 0.05:
                dead.add(name)
            else:
                busy[name] = chance.randint(0, held.get(name, 0))
                leases = [lease(each, slots, alive=each not in dead) for each, slots in held.items()]
                wish = claim(wanted=chance.randint(0, 20), most=chance.choice((0, 5, 20)), busy=busy[name])
                held[name] = granted(cap, leases, wish, name, step * TURN_SECONDS)
                assert held[name] >= busy[name]
            assert sum(held.values()) <= cap
