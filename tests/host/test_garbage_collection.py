"""How many objects a pass of the garbage collector walks over in a process that only runs actors."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import pytest

from stepward.host import tune_process
from stepward.host.garbage_collection import COLLECTS_IN_STEPS, YOUNG_OBJECTS

KEPT = 300_000
"""Objects that stay: more than CPython lets gather for its second generation at the threshold of ``tune_process``."""
MOST_WALKED = 4 * YOUNG_OBJECTS
OLDEST = 2


@pytest.fixture
def tuned(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The process as ``stepward run`` sets it up, but that nothing is frozen for the tests that follow."""
    thresholds = gc.get_threshold()
    monkeypatch.setattr(gc, "freeze", lambda: None)
    gc.collect()
    tune_process()
    yield
    gc.set_threshold(*thresholds)


def walked_by_each_pass() -> list[int]:
    """The objects that each pass but the full ones walks over, while many are made that stay."""
    walked: list[int] = []

    def note(phase: str, info: dict[str, Any]) -> None:
        if phase == "start" and info["generation"] < OLDEST:
            walked.append(sum(len(gc.get_objects(generation=n)) for n in range(info["generation"] + 1)))

    gc.callbacks.append(note)
    try:
        kept: list[list[int]] = [[] for _ in range(KEPT)]
    finally:
        gc.callbacks.remove(note)
    assert len(kept) == KEPT
    return walked


@pytest.mark.skipif(COLLECTS_IN_STEPS, reason="CPython divides the pass by itself")
@pytest.mark.usefixtures("tuned")
def test_no_pass_but_a_full_one_walks_over_many_objects() -> None:
    walked = walked_by_each_pass()
    assert len(walked) >= KEPT // YOUNG_OBJECTS - 1
    assert max(walked) <= MOST_WALKED


@pytest.mark.skipif(COLLECTS_IN_STEPS, reason="CPython divides the pass by itself")
@pytest.mark.usefixtures("tuned")
def test_full_passes_are_no_more_frequent_than_at_cpythons_other_thresholds() -> None:
    young, middle, oldest = gc.get_threshold()
    # A generation is collected by the pass after its threshold was passed, which counts once more.
    assert young * (middle + 2) * (oldest + 2) >= YOUNG_OBJECTS * 12 * 12
