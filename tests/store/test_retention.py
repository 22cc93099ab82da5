"""How much of what is old one transaction should delete."""

from __future__ import annotations

from stepward.store.contract import Outlived
from stepward.store.contract.by_subject.retention import BATCH_BYTES, BATCH_ROWS
from stepward.store.rules.deletion_bounds import purge_batch

A, B, C = (Outlived(uid, 1.0) for uid in "abc")


def test_all_go_that_fit() -> None:
    assert purge_batch([("a", 1.0, 1, None), ("b", 1.0, 9, 9), ("c", 1.0, 9, BATCH_BYTES - 9)]) == [A, B, C]
    assert purge_batch([]) == []


def test_of_too_many_rows_the_last_was_not_looked_at_as_a_whole() -> None:
    assert purge_batch([("a", 1.0, 1, 1), ("b", 1.0, BATCH_ROWS - 1, 1)]) == [A]


def test_of_too_many_bytes_the_first_go() -> None:
    assert purge_batch([("a", 1.0, 1, 1), ("b", 1.0, 1, BATCH_BYTES), ("c", 1.0, 1, 1)]) == [A]


def test_one_that_is_too_large_goes_alone() -> None:
    assert purge_batch([("a", 1.0, BATCH_ROWS, 1)]) == [A]
    assert purge_batch([("a", 1.0, 1, 2 * BATCH_BYTES), ("b", 1.0, 1, 1)]) == [A]
