"""How many objects a pass of the garbage collector walks over in a process that only runs actors."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stepward.host import garbage_collection, tune_process
from stepward.host.garbage_collection import (
    COLLECTS_IN_STEPS,
    THAW_BYTES,
    THAW_SECONDS,
    YOUNG_OBJECTS,
    SurvivorsFrozen,
)

KEPT = 600_000
"""Objects that stay: more than CPython lets gather for its second generation at the threshold of ``tune_process``."""
RARELY = 20_000 * 12 * 12
"""Objects that come to stay between two passes over all, with CPython's factors of 10."""
MOST_WALKED = 50_000
"""Objects that one pass walks over at most: some 10 ms."""


IMPORTED = 600_000
"""Objects that are there before a process is set up."""


@pytest.fixture
def tuned() -> Iterator[None]:
    """The process as ``stepward run`` sets it up, after it imported much."""
    imported: list[list[int]] = [[] for _ in range(IMPORTED)]
    gc.collect()
    tune_process()
    yield
    del imported


def walked_by_each_pass() -> list[int]:
    """The objects that each pass walks over, while many are made that stay."""
    walked: list[int] = []

    def note(phase: str, info: dict[str, Any]) -> None:
        if phase == "start":
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
def test_no_pass_walks_over_many_objects_though_more_and_more_stay() -> None:
    walked = walked_by_each_pass()
    assert len(walked) >= KEPT // YOUNG_OBJECTS - 1
    assert max(walked) <= MOST_WALKED


class Node:
    """An object, in a cycle of its own where it has no other."""

    def __init__(self, held: object = None) -> None:
        self.held = held or self


@pytest.mark.skipif(COLLECTS_IN_STEPS, reason="CPython divides the pass by itself")
@pytest.mark.usefixtures("tuned")
def test_a_cycle_that_is_dropped_after_it_was_frozen_is_freed_once_the_process_has_grown() -> None:
    size = [0]
    gc.callbacks[-1:] = [SurvivorsFrozen(lambda: 0.0, lambda: size[0])]
    node = Node()
    gc.collect()
    dropped = weakref.ref(node)
    del node
    gc.collect()
    assert dropped() is not None
    size[0] = THAW_BYTES
    gc.collect()
    assert dropped() is None


@pytest.mark.skipif(COLLECTS_IN_STEPS, reason="CPython divides the pass by itself")
@pytest.mark.usefixtures("tuned")
def test_garbage_that_was_freed_does_not_let_the_process_grow_further_before_the_next_time() -> None:
    held: list[object] = []

    def size() -> int:
        return sum(THAW_BYTES for node in held if isinstance(node, weakref.ref) and node() is not None)

    gc.callbacks[-1:] = [SurvivorsFrozen(lambda: 0.0, size)]
    for _ in range(3):
        node = Node()
        gc.collect()
        held.append(weakref.ref(node))
        del node
        gc.collect()
        assert size() == 0


@pytest.mark.skipif(COLLECTS_IN_STEPS, reason="CPython divides the pass by itself")
@pytest.mark.usefixtures("tuned")
def test_it_is_freed_after_a_while_at_the_latest() -> None:
    now = [0.0]
    gc.callbacks[-1:] = [SurvivorsFrozen(lambda: now[0], lambda: 0)]
    node = Node()
    gc.collect()
    dropped = weakref.ref(node)
    del node
    now[0] = THAW_SECONDS
    gc.collect()
    assert dropped() is None


@pytest.mark.skipif(COLLECTS_IN_STEPS, reason="CPython divides the pass by itself")
@pytest.mark.usefixtures("tuned")
def test_a_frozen_object_is_freed_with_its_last_reference() -> None:
    node = Node([1])
    gc.collect()
    dropped = weakref.ref(node)
    del node
    assert dropped() is None


@pytest.mark.skipif(COLLECTS_IN_STEPS, reason="CPython divides the pass by itself")
def test_where_nothing_says_how_large_the_process_is_full_passes_stay_rare(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(garbage_collection, "MEMORY", tmp_path / "none")
    callbacks = len(gc.callbacks)
    tune_process()
    young, middle, oldest = gc.get_threshold()
    # A generation is collected by the pass after its threshold was passed, which counts once more.
    assert young * (middle + 2) * (oldest + 2) >= RARELY
    assert len(gc.callbacks) == callbacks
