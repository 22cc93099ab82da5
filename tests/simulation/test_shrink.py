"""The smallest world that still breaks: parts are left out by bisection."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from simulation.planted_bugs.planting import planted
from simulation.shrink import Shrinker, main, smallest

SEED, BUG = 9, "result_of_child_lost"


@pytest.mark.parametrize("needed", ["", "c", "ah", "bcf", "abcdefgh"])
def test_only_what_is_needed_is_kept(needed: str) -> None:
    tried: list[str] = []

    def breaks(kept: Sequence[str]) -> bool:
        tried.append("".join(kept))
        return set(needed) <= set(kept)

    assert "".join(smallest("abcdefgh", breaks)) == needed
    assert len(tried) <= 30


@pytest.mark.faults
def test_a_broken_seed_is_shrunk_to_the_task_that_breaks() -> None:
    with planted(BUG):
        shrinker = Shrinker(SEED)
        whole = shrinker.result
        shrinker.shrink()
    assert shrinker.result.violations[0].startswith("S32")
    assert len(whole.parts.tasks) > 1
    assert [len(shrinker.result.parts.tasks), len(shrinker.result.parts.processes)] == [1, 0]
    assert len(shrinker.result.parts.faults) < len(whole.parts.faults)


@pytest.mark.faults
def test_the_command_prints_the_smallest_world_and_its_timeline(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seed", str(SEED), "--bug", BUG]) == 1
    told = capsys.readouterr().out
    assert "VIOLATION" in told
    assert "tasks: program-1 (1 of " in told


def test_a_seed_that_holds_is_not_shrunk(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seed", str(SEED)]) == 0
    assert capsys.readouterr().out == f"seed {SEED} holds: nothing to shrink\n"
