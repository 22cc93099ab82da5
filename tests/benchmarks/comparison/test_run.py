"""A run goes on without a product that fails, and ends in time."""

from __future__ import annotations

import subprocess
import sys

import pytest

from benchmarks.comparison import measures, run
from benchmarks.comparison.measures import Figures, Sizes
from benchmarks.comparison.products import PRODUCTS, RECOVERY, Product
from benchmarks.comparison.programs import ProgramFailed
from benchmarks.comparison.results import Results
from benchmarks.comparison.run import LATE, Run, rotated

OURS = {product.key: product for product in PRODUCTS}["stepward-sqlite"]
SMALL = Sizes(1, warm_seconds=0.0, ten_seconds=0.2, alone_seconds=0.0, queued_seconds=0.0, held=2)


def _silent(line: str) -> None:
    pass


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The products that were measured, of which DBOS fails."""
    asked: list[str] = []

    async def round_of(product: Product, sizes: Sizes) -> Figures:
        asked.append(product.key)
        if product.key.startswith("dbos"):
            raise ProgramFailed("start: no such file")
        return {"steps_per_s": 1.0}

    async def recovery(product: Product, sizes: Sizes) -> Figures:
        return {"recovered_after_s": 2.0}

    monkeypatch.setattr(measures, "round_of", round_of)
    monkeypatch.setattr(measures, "recovery", recovery)
    return asked


async def test_a_product_that_fails_is_reported_and_the_others_go_on(asked: list[str]) -> None:
    results = Results()
    await Run(PRODUCTS, Sizes(rounds=2), results, _silent).compare()
    assert results.missing == {
        f"dbos-{store}, round {number}": "start: no such file"
        for number in (1, 2)
        for store in ("sqlite", "postgresql")
    }
    assert results.rounds["restate"] == {"steps_per_s": [1.0, 1.0], "recovered_after_s": [2.0]}


async def test_only_products_with_tasks_of_several_steps_recover(asked: list[str]) -> None:
    results = Results()
    await Run(PRODUCTS, Sizes(rounds=1), results, _silent).compare()
    recovered = {key for key, figures in results.rounds.items() if "recovered_after_s" in figures}
    assert recovered == {product.key for product in PRODUCTS if RECOVERY in product.takes}


async def test_rounds_end_when_the_time_is_used_up_but_the_first_is_whole(asked: list[str]) -> None:
    results = Results()
    await Run(PRODUCTS, Sizes(rounds=3, budget_seconds=0.0), results, _silent).compare()
    assert len(asked) == len(PRODUCTS)
    assert results.missing["rounds"] == f"1 of 3: {LATE}"
    assert results.missing["restate, recovery"] == LATE


def test_sweeps_that_come_too_late_are_named() -> None:
    results = Results()
    Run(PRODUCTS, Sizes(budget_seconds=0.0), results, _silent).sweep(is_long=False)
    assert results.sweeps == {}
    assert results.missing["flight-sqlite 100000"] == LATE
    assert "stored-sqlite 10000000" not in results.missing


def test_a_sweep_that_fails_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(name: str, size: str, seconds: float) -> Figures:
        raise ProgramFailed("the disk is full")

    monkeypatch.setattr(run, "_in_fresh_process", fail)
    results = Results()
    Run(PRODUCTS, Sizes(), results, _silent).sweep(is_long=True)
    assert results.missing["stored-postgresql 10000000"] == "the disk is full"


def test_each_round_begins_with_another_product() -> None:
    firsts = {rotated(PRODUCTS, number)[0].key for number in range(3)}
    assert len(firsts) == 3
    assert set(rotated(PRODUCTS, 2)) == set(PRODUCTS)


def test_an_unknown_product_is_refused_in_one_line() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "benchmarks.comparison", "sidekiq"], capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith("benchmarks: products: expected some of stepward-sqlite,")
    assert ran.stderr.endswith("found sidekiq\n")


@pytest.mark.servers
async def test_a_round_of_the_product_itself_has_all_figures() -> None:
    figures = await measures.round_of(OURS, SMALL)
    assert figures["steps_per_s"] > 0
    assert {"alone_p50_ms", "client_cpu_us", "client_mib", "queued_tasks_per_s", "written_bytes"} <= figures.keys()


@pytest.mark.faults
@pytest.mark.servers
async def test_the_product_itself_recovers() -> None:
    assert (await measures.recovery(OURS, SMALL))["recovered_after_s"] > 0
