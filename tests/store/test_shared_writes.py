"""Acts that come at one time share commits, and each caller receives its own outcome."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import pytest

from stepward.errors import CommitUnknown, Refused, StoreUnavailable
from stepward.store.postgres.engine import shared_writes
from stepward.store.postgres.engine.shared_writes import ActSize, Apart, Outcome, SharedWrites, in_rounds

CALLERS = 100
BYTES = 7
"""Of each act."""


class Writes:
    """Notes how many acts each commit has, and may fail; the result of an act is its double."""

    def __init__(self) -> None:
        self.groups: list[int] = []
        self.written: list[int] = []
        self.called = asyncio.Event()
        self.failing: Callable[[Sequence[int]], Exception | None] = lambda acts: None
        self.outcomes: dict[int, Outcome[int]] = {}
        """Of acts within a group; else the double."""
        self.shared = SharedWrites(self._alone, self._together, lambda act: ActSize(1, BYTES))

    async def write(self, *acts: int) -> list[int | BaseException]:
        return await asyncio.gather(*map(self.shared.write, acts), return_exceptions=True)

    async def _alone(self, act: int) -> int:
        await self._commit([act])
        return 2 * act

    async def _together(self, acts: Sequence[int]) -> list[Outcome[int]]:
        await self._commit([act for act in acts if act not in self.outcomes])
        return [self.outcomes.get(act, 2 * act) for act in acts]

    async def _commit(self, acts: Sequence[int]) -> None:
        self.groups.append(len(acts))
        self.called.set()
        await asyncio.sleep(0)
        error = self.failing(acts)
        if error is not None:
            raise error
        self.written += acts


@pytest.fixture
def writes() -> Writes:
    return Writes()


async def test_acts_at_one_time_share_a_commit_and_keep_their_order(writes: Writes) -> None:
    assert await writes.write(*range(CALLERS)) == [2 * act for act in range(CALLERS)]
    assert writes.groups == [1, CALLERS - 1]
    assert writes.written == list(range(CALLERS))


async def test_one_act_alone_is_a_commit_of_its_own(writes: Writes) -> None:
    for act in range(3):
        await writes.write(act)
    assert writes.groups == [1, 1, 1]


async def test_an_act_that_the_store_refuses_takes_no_other_along(writes: Writes) -> None:
    writes.failing = lambda acts: Refused("no") if 7 in acts else None
    found = await writes.write(*range(10))
    assert [act for act, each in enumerate(found) if isinstance(each, Refused)] == [7]
    assert writes.written == [act for act in range(10) if act != 7]


async def test_a_group_refuses_one_act_and_leaves_another_to_a_transaction_of_its_own(writes: Writes) -> None:
    writes.outcomes = {3: Refused("no"), 5: Apart.APART}
    found = await writes.write(*range(8))
    assert isinstance(found[3], Refused)
    assert [each for each in found if isinstance(each, int)] == [0, 2, 4, 8, 10, 12, 14]
    assert writes.groups == [1, 5, 1]
    assert writes.written == [0, 1, 2, 4, 6, 7, 5]


def test_acts_at_one_place_are_in_different_rounds() -> None:
    assert in_rounds("abacab", lambda act: act) == [[0, 1, 3], [2, 5], [4]]
    assert in_rounds("", lambda act: act) == []


@pytest.mark.parametrize("error", [StoreUnavailable("no answer"), CommitUnknown("no answer")])
async def test_an_outage_is_raised_at_every_caller_in_an_exception_of_its_own(writes: Writes, error: Exception) -> None:
    writes.failing = lambda acts: error
    found = await writes.write(*range(10))
    assert {type(each) for each in found} == {type(error)}
    assert len({id(each) for each in found}) == 10
    assert writes.groups == [1, 9]
    writes.failing = lambda acts: None
    assert await writes.write(4) == [8]


async def test_a_call_that_is_cancelled_while_it_waits_is_not_written(writes: Writes) -> None:
    calls = [asyncio.create_task(writes.shared.write(act)) for act in range(5)]
    await writes.called.wait()
    calls[3].cancel()
    found = await asyncio.gather(*calls, return_exceptions=True)
    assert isinstance(found[3], asyncio.CancelledError)
    assert writes.written == [0, 1, 2, 4]


@pytest.mark.parametrize(("rows", "size", "groups"), [(4, 1_000, [1, 4, 4, 1]), (100, 30, [1, 4, 4, 1])])
async def test_a_group_is_bounded_in_rows_and_in_bytes(
    writes: Writes, monkeypatch: pytest.MonkeyPatch, rows: int, size: int, groups: list[int]
) -> None:
    monkeypatch.setattr(shared_writes, "MOST_ROWS", rows)
    monkeypatch.setattr(shared_writes, "MOST_BYTES", size)
    await writes.write(*range(10))
    assert writes.groups == groups
