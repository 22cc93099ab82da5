from __future__ import annotations

from .conftest import Bench


async def test_the_leader_records_a_sample_a_minute(bench: Bench) -> None:
    supervisor = bench.supervisor()
    for _ in range(61):
        await supervisor.turn()
        bench.store.time += 2
    assert bench.store.calls.count("sample_states") == 3


async def test_a_sample_that_failed_is_taken_at_the_next_pass(bench: Bench) -> None:
    supervisor = bench.supervisor()
    bench.store.failing = {"sample_states"}
    await supervisor.turn()
    bench.store.failing = set()
    bench.store.time += 2
    await supervisor.turn()
    assert bench.store.calls.count("sample_states") == 2


async def test_another_than_the_leader_records_none(bench: Bench) -> None:
    supervisor = bench.supervisor()
    bench.store.term = None
    await supervisor.turn()
    assert "sample_states" not in bench.store.calls
