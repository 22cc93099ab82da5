"""The checker of live values can fail, and a world whose tasks write values holds what they promise."""

from __future__ import annotations

import pytest

from simulation.application.live_values import VALUES_FROM, has_values
from simulation.planted_bugs.bugs import planted
from simulation.run import run_seed

SEEDS = [seed for seed in range(VALUES_FROM, VALUES_FROM + 40) if has_values(seed)]


@pytest.mark.parametrize("seed", SEEDS[:3])
def test_each_value_is_written_once_with_its_outcome(seed: int) -> None:
    result = run_seed(seed)
    assert result.violations == []
    assert result.situations["a task streamed values"] > 0


def test_a_value_that_is_written_twice_is_found() -> None:
    with planted("values_written_twice"):
        found = [violation for seed in SEEDS[:1] for violation in run_seed(seed).violations]
    assert any("S39" in violation for violation in found)
