"""Medians, spreads and ratios of the rounds of a comparison."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.comparison.results import Results, Spread, digest, read, write


def _results(**rounds: list[float]) -> Results:
    results = Results()
    for product, values in rounds.items():
        for value in values:
            results.add(product, {"steps_per_s": value})
    return results


@pytest.mark.parametrize(
    ("values", "spread"),
    [([3.0], (3, 3, 3)), ([5.0, 1.0, 3.0], (3, 1, 5)), ([4.0, 2.0], (3, 2, 4))],
)
def test_a_spread_is_the_median_between_the_least_and_the_largest(values: list[float], spread: Spread) -> None:
    assert _results(ours=values).spread("ours", "steps_per_s") == spread


def test_ratios_are_taken_within_each_round() -> None:
    """The ratio of the medians would be 1: a machine that slows down in a round slows both down."""
    results = _results(ours=[10.0, 40.0, 20.0], theirs=[5.0, 10.0, 40.0])
    assert results.ratio("ours", "theirs", "steps_per_s") == (2.0, 0.5, 4.0)


def test_a_round_without_a_counterpart_has_no_ratio() -> None:
    assert _results(ours=[10.0, 40.0], theirs=[5.0]).ratio("ours", "theirs", "steps_per_s") == (2, 2, 2)


def test_a_rate_of_zero_is_no_base_of_a_ratio() -> None:
    assert _results(ours=[10.0, 40.0], theirs=[0.0, 10.0]).ratio("ours", "theirs", "steps_per_s") == (4, 4, 4)


def test_a_product_that_is_missing_has_neither_spread_nor_ratio() -> None:
    results = _results(ours=[10.0])
    assert results.spread("theirs", "steps_per_s") is None
    assert results.spread("ours", "alone_p50_ms") is None
    assert results.ratio("ours", "theirs", "steps_per_s") is None
    assert results.ratio("theirs", "ours", "steps_per_s") is None


def test_a_file_holds_what_was_written_with_four_digits(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "results.json"
    results = _results(ours=[12345.678])
    results.missing["theirs, round 1"] = "server: none"
    results.sweeps = {"stored-sqlite": {"1000": {"cpu_us_per_step": 41.23456}}}
    write(results, path)
    found = read(path)
    assert found.rounds == {"ours": {"steps_per_s": [12350.0]}}
    assert found.sweeps == {"stored-sqlite": {"1000": {"cpu_us_per_step": 41.23}}}
    assert found.missing == results.missing


def test_files_of_different_runs_have_different_digests(tmp_path: Path) -> None:
    one, other = tmp_path / "one.json", tmp_path / "other.json"
    write(_results(ours=[1.0]), one)
    write(_results(ours=[2.0]), other)
    assert digest(one) != digest(other)
