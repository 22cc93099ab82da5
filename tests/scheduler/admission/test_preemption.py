"""The rule of preemption: which tasks get the room of a full Scheduler."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepward.scheduler.admission.windows import Key
from stepward.scheduler.preemption import AT_ONCE, overtakers
from stepward.store.contract import Least


@pytest.mark.parametrize(
    ("crowd", "least", "most"),
    [
        ({None: 1}, Least(2), AT_ONCE),
        ({"a": 1, "b": 1}, Least(2), AT_ONCE),
        ({None: 10}, Least(1, frozenset({None})), 3),
        ({"a": 300, "b": 100, None: 30}, Least(1, frozenset({"a", "b"})), 54),
        ({"a": 999, "b": 1}, Least(1, frozenset({"a"})), AT_ONCE),
    ],
)
def test_a_higher_priority_or_less_than_half_of_a_fair_part(crowd: dict[Key, int], least: Least, most: int) -> None:
    assert overtakers(1, Counter(crowd)) == (least, most)


@given(st.dictionaries(st.sampled_from([None, *"abcdef"]), st.integers(1, 500), min_size=1), st.data())
def test_a_key_that_overtakes_is_not_overtaken_in_turn(crowd: dict[Key, int], data: st.DataObject) -> None:
    counts = Counter(crowd)
    least, most = overtakers(5, counts)
    if least.priority > 5:
        return
    newcomers = [key for key in [None, *"abcdefgh"] if key not in least.but]
    # Any of them may take all that is given at once; who waits most makes room for each.
    for key in data.draw(st.lists(st.sampled_from(newcomers), min_size=most, max_size=most)):
        fullest = max(counts, key=lambda each: counts[each])
        assert counts[fullest] > counts[key] + 1
        counts[fullest] -= 1
        counts[key] += 1
