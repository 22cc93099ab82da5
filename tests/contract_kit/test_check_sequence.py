"""Runs of the contract kit that end otherwise: checks that cannot be made, and Agents that do not answer."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace

from stepward.contract_kit.catalogue import CHECKS
from stepward.contract_kit.check_sequence import CheckResult, CheckState, check_contract
from stepward.model.agents import AgentHealth
from tests.contract_kit.bench import LEASE, bench_of

OF_PROCESS = {"redelivery", "drains", "takes-no-more", "announces-end"}


def skipped(results: list[CheckResult]) -> dict[str, str]:
    return {each.check: each.reason or "" for each in results if each.state is CheckState.SKIPPED}


async def test_an_agent_that_the_kit_did_not_start_is_checked_without_being_ended() -> None:
    async with bench_of() as bench:
        process = bench.own_process()
        await process.start()
        bench.process = None
        found = skipped([result async for result in check_contract(bench)])
        bench.process = process
        assert found.keys() == OF_PROCESS
        assert all("give its command" in reason for reason in found.values())
        assert process.is_running


async def test_an_agent_that_reports_to_its_store_announces_nothing() -> None:
    async with bench_of("announces-nothing") as bench:
        bench.options = replace(bench.options, reports_to_store=True)
        results = [result async for result in check_contract(bench)]
    assert [each.check for each in results if each.state is CheckState.FAILED] == []
    assert skipped(results).keys() == {"announces", "announces-end"}


async def test_without_an_answer_no_further_check_is_made() -> None:
    async with bench_of("answers-nothing") as bench:
        (only,) = [result async for result in check_contract(bench)]
    assert (only.check, only.expected) == ("answers", "a reply to contract.echo within 60 s")


@pytest.mark.parametrize("name", ["concurrency", "prefetch", "lease"])
async def test_a_capacity_that_no_check_can_fill_skips_the_checks_that_fill_it(name: str) -> None:
    async with bench_of() as bench:
        await bench.restarted()
        health = AgentHealth(agent="contract", capacity=1_000, in_flight=0)
        bench.scheduler.announcements.append((bench.scheduler.now(), "/stepward/contract/other", health))
        (check,) = [check for check in CHECKS if check.name == name]
        await asyncio.sleep(0)
        (result,) = [result async for result in check_contract(bench, [check])]
    assert "expected a capacity of at most 64, found 1,000" in skipped([result])[name]


@pytest.mark.parametrize("name", ["prefetch", "lease"])
async def test_another_instance_has_its_time_from_when_it_stands_in_the_queue(name: str) -> None:
    """At a broker under load that takes longer than a lease."""
    async with bench_of(attach_seconds=3 * LEASE) as bench:
        (check,) = [check for check in CHECKS if check.name == name]
        await bench.restarted()
        (result,) = [result async for result in check_contract(bench, [check])]
    assert result.state == "passed", result


async def test_an_unreadable_reply_is_quoted_where_a_reply_is_missed() -> None:
    async with bench_of("answers-nothing") as bench:
        bench.scheduler.arrival.add(b"[5]")
        (only,) = [result async for result in check_contract(bench)]
    assert only.found is not None
    assert only.found.startswith("none, and an unreadable message: [5] (")
