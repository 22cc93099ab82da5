"""Which events a reader was given already."""

from __future__ import annotations

import itertools
import random

import pytest

from stepward.client.queues.deduplication import TASKS_KEPT, WIDEST_GAP, EventsSeen


@pytest.mark.parametrize("order", list(itertools.permutations([1, 2, 3, 4])))
def test_each_event_is_new_once_in_whatever_order_they_come(order: tuple[int, ...]) -> None:
    seen = EventsSeen()
    assert [seen.is_new("a", sequence) for sequence in order] == [True] * 4
    assert [seen.is_new("a", sequence) for sequence in order] == [False] * 4


def test_it_agrees_with_a_set_whatever_comes() -> None:
    chance, seen, known = random.Random(7), EventsSeen(), set[tuple[str, int]]()
    for _ in range(5000):
        event = chance.choice("abc"), chance.randrange(1, 200)
        assert seen.is_new(*event) == (event not in known)
        known.add(event)


def test_tasks_have_sequences_of_their_own() -> None:
    seen = EventsSeen()
    assert seen.is_new("a", 1)
    assert seen.is_new("b", 1)
    assert not seen.is_new("a", 1)


def test_what_lies_far_away_starts_again_and_costs_nothing() -> None:
    seen = EventsSeen()
    assert seen.is_new("a", 1)
    assert seen.is_new("a", 2 + WIDEST_GAP)
    assert seen.is_new("a", 10**15)
    assert seen.is_new("a", -(10**15))
    assert not seen.is_new("a", -(10**15))


def test_of_very_many_tasks_the_quietest_are_forgotten() -> None:
    seen = EventsSeen()
    assert seen.is_new("quiet", 1)
    assert seen.is_new("loud", 1)
    for number in range(TASKS_KEPT):
        seen.is_new("loud", number + 2)
        seen.is_new(str(number), 1)
    assert seen.is_new("quiet", 1)
    assert not seen.is_new("loud", 2)
