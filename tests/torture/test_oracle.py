"""The oracle of the torture can fail: each thing that is planted into the books of a good run is found."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tests.torture.plants import PLANTS, Plant
from torture.application.task_kinds import KINDS
from torture.books import Records
from torture.oracle import judge

RECORDED = Path(__file__).with_name("books.json")
"""What a run of a minute left behind, cut down to a few tasks of each kind."""


@pytest.fixture
def books() -> Records:
    return msgspec.json.decode(RECORDED.read_bytes(), type=Records)


def test_the_books_of_a_good_run_hold(books: Records) -> None:
    assert judge(books) == []
    assert {task.workflow for task in books.tasks} == KINDS.keys()


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.__name__)
def test_planted_violations_are_found(books: Records, plant: Plant) -> None:
    plant(books)
    found = judge(books)
    assert any(PLANTS[plant] in line for line in found), found


def test_an_attempt_is_in_time_by_the_clock_that_went_as_it_began(books: Records) -> None:
    """A standby took over whose clock is an hour ahead, and the request was on its way to the service."""
    call = next(call for call in books.calls if "/service.act/" in call.key)
    books.times = [(0.0, 0.0, 1.0), (call.at - 1.0, 3600.0, 1.0)]
    assert not any(line.startswith(f"{call.key}: was answered") for line in judge(books))
