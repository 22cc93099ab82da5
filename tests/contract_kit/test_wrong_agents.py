"""Each check of the contract kit finds the Agent that breaks what it checks, and no other check does."""

from __future__ import annotations

import pytest

from stepward.contract_kit.catalogue import CHECKS
from stepward.contract_kit.check_sequence import CheckResult, CheckState, check_contract
from tests.contract_kit.bench import bench_of
from tests.contract_kit.small_agent import WRONG


async def results(wrong: str = "", *, has_leases: bool = True) -> list[CheckResult]:
    async with bench_of(wrong, has_leases=has_leases) as bench:
        return [result async for result in check_contract(bench)]


@pytest.mark.parametrize("has_leases", [True, False])
async def test_a_right_agent_passes_every_check(has_leases: bool) -> None:
    found = await results(has_leases=has_leases)
    assert [each for each in found if each.state is not CheckState.PASSED] == []
    assert [each.check for each in found] == [check.name for check in CHECKS]


@pytest.mark.parametrize("wrong", WRONG)
async def test_a_wrong_agent_fails_the_check_of_what_it_breaks_and_no_other(wrong: str) -> None:
    failed = [each for each in await results(wrong) if each.state is CheckState.FAILED]
    assert [each.check for each in failed] == [WRONG[wrong]], failed
    assert all(each.expected and each.found and each.advice for each in failed)


def test_there_is_a_wrong_agent_for_every_check() -> None:
    assert {check.name for check in CHECKS} == set(WRONG.values())
