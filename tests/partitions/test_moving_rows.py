"""Rows that move are kept in parts of a bounded size, in order, and none is left out."""

from __future__ import annotations

from stepward.store.partitions.moving import rows
from stepward.store.partitions.moving.rows import Piece


def test_a_part_ends_with_the_row_that_fills_it() -> None:
    """A store takes no value of a gigabyte, which two hundred rows with payloads of some megabytes would be."""
    large = [(f"large-{n}", b"x" * 700_000) for n in range(7)]
    small = [(f"small-{n}", n) for n in range(5)]
    found = list(rows.parts([Piece("a", ["uid", "input"], large), Piece("b", ["uid", "n"], small)]))
    assert max(map(len, found)) < rows.PART_BYTES + 800_000
    pieces = [piece for part in found for piece in rows.read(part)]
    for table, those in (("a", large), ("b", small)):
        assert [tuple(row) for piece in pieces if piece.table == table for row in piece.rows] == those


def test_nothing_makes_no_part() -> None:
    assert list(rows.parts([Piece("a", ["uid"], [])])) == []
