"""Another product's program, controlled over a pipe."""

from __future__ import annotations

import sys

import pytest

from benchmarks.peers import hired
from tests.benchmarks.conftest import PEER


async def test_the_better_of_its_ways_counts() -> None:
    async with hired([sys.executable, str(PEER)]) as peer:
        assert await peer.ten_step_tasks(1, 1) == 1_000.0
        assert await peer.one_task(1) == 0.25
        assert await peer.queued_tasks(1) == 100.0


async def test_a_program_that_ends_is_reported() -> None:
    with pytest.raises(RuntimeError, match="expected an answer to ten, found that it ended"):
        async with hired([sys.executable, "-c", ""]) as peer:
            await peer.ten_step_tasks(1, 1)
