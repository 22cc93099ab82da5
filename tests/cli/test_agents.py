"""``stepward agents``: who is at work, who is kept from it, and by whom."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from stepward.cli.input.targets import load_app
from stepward.model.agents import AgentHealth, Report
from stepward.model.records import Instance, Role
from stepward.store.contract import Store

from .conftest import SHOP, Stepward, one_line
from .stores import as_json, opened

AGENT = {
    "name",
    "state",
    "instances",
    "capacity",
    "in_flight",
    "stuck",
    "asked",
    "waiting_since",
    "hosts",
    "suspended_at",
    "suspended_by",
    "note",
    "opened_at",
}


def agent(id: str, **capacities: int) -> Instance:
    health = [AgentHealth(agent=name, capacity=capacity) for name, capacity in capacities.items()]
    return Instance(id=id, role=Role.AGENT, host="h", pid=1, serves=list(capacities), health=health)


def act(*acts: Callable[[Store], Awaitable[Any]]) -> None:
    async def run() -> None:
        async with opened() as store:
            for each in acts:
                await each(store)

    asyncio.run(run())


@pytest.fixture
def served(store: Path) -> Path:
    """Two instances of one Agent, and one of another."""
    act(
        lambda store: store.host.register(agent("agent-a", payments=7, stock=1), 3600),
        lambda store: store.host.register(agent("agent-b", payments=3), 3600),
    )
    return store


def test_an_agent_whose_instances_are_gone_is_shown_for_an_hour(store: Path, stepward: Stepward) -> None:
    (found,) = as_json(stepward, "agents")
    assert (found["name"], found["state"], found["instances"], found["hosts"]) == ("payments", "no instance", 0, [])
    assert "payments  no instance" in stepward("agents").stdout


def test_an_empty_list_of_agents_prints_a_sentence(empty: Path, stepward: Stepward) -> None:
    act()
    assert stepward("agents").stdout == "No Agent is alive.\n"


def test_agents_are_listed_with_what_all_instances_say(served: Path, stepward: Stepward) -> None:
    busy = [AgentHealth(agent="payments", capacity=7, in_flight=5, stuck=2), AgentHealth(agent="stock", capacity=1)]
    act(
        lambda store: store.host.renew(["agent-a"], 3600, {"agent-a": Report(health=busy)}),
        lambda store: store.host.register(Instance(id="s", role=Role.SCHEDULER, host="h", pid=2, serves=[]), 3600),
        lambda store: store.host.renew(["s"], 3600, {"s": Report(demand={"payments": 12})}),
    )
    payments, stock = as_json(stepward, "agents")
    assert set(payments) == AGENT
    known = ("name", "state", "instances", "capacity", "in_flight", "stuck", "asked", "hosts")
    assert [payments[key] for key in known] == ["payments", "ok", 2, 8, 5, 2, 12, ["h"]]
    assert [stock[key] for key in known] == ["stock", "ok", 1, 1, 0, 0, 0, ["h"]]
    shown = stepward("agents").stdout
    assert "payments  ok" in shown
    narrow = stepward("agents", COLUMNS="60").stdout.splitlines()
    assert narrow[0].split() == ["AGENT", "STATE", "INSTANCES", "CAPACITY", "IN", "FLIGHT", "ASKED"]
    assert max(map(len, narrow)) <= 60
    told = " ".join(stepward("agents", "--help").stdout.split()).partition("Keys under --json: ")[2]
    assert set(told.partition(". ")[0].rstrip(".").split(", ")) >= AGENT - {"opened_at"}


def test_the_error_rate_and_the_durations_of_attempts_are_those_of_the_newest_tasks(
    store: Path, stepward: Stepward
) -> None:
    found = {stats["name"]: stats for stats in as_json(stepward, "agents", "stats")}
    assert set(found["payments"]) == {"name", "attempts", "failed", "error_rate", "p50_seconds", "p95_seconds"}
    assert found["payments"]["attempts"] >= found["payments"]["failed"] >= 1
    shown = stepward("agents", "stats").stdout.splitlines()
    assert shown[0].split() == ["AGENT", "ATTEMPTS", "FAILED", "ERROR", "RATE", "P50", "P95"]
    assert any(line.startswith("payments") and "%" in line for line in shown)


def test_instances_show_their_load_beside_their_agents(served: Path, stepward: Stepward) -> None:
    busy = AgentHealth(agent="payments", capacity=3, in_flight=2, stuck=1, breaker="half_open")
    act(lambda store: store.host.renew(["agent-b"], 3600, {"agent-b": Report(health=[busy])}))
    assert "payments 2/2 breaker half open" in stepward("instances", COLUMNS="200").stdout
    (found,) = [each for each in as_json(stepward, "instances") if each["id"] == "agent-b"]
    assert found["health"] == [{"agent": "payments", "capacity": 3, "in_flight": 2, "stuck": 1, "breaker": "half_open"}]


def test_an_agent_is_suspended_and_resumed(served: Path, stepward: Stepward) -> None:
    result = stepward("agents", "suspend", "payments", "--note", "the bank asked for it")
    assert (result.stdout, result.exit_code) == ("Agent payments: suspended\n", 0)
    found = as_json(stepward, "agents")[0]
    assert (found["state"], found["note"]) == ("suspended", "the bank asked for it")
    assert found["suspended_at"].endswith("Z")
    shown = stepward("agents", COLUMNS="200").stdout
    assert f"suspended 0s by {found['suspended_by']}: the bank asked for it" in shown
    assert "found it suspended already" in one_line(stepward("agents", "suspend", "payments"))
    assert stepward("agents", "resume", "payments").stdout == "Agent payments: resumed\n"
    again = stepward("agents", "resume", "payments")
    assert again.exit_code == 1
    assert "expected a suspended one, found it at work" in one_line(again)
    acts = [(entry["act"], entry["details"]["agent"]) for entry in as_json(stepward, "audit", "--limit", "2")]
    assert acts == [("resume", "payments"), ("suspend", "payments")]


def test_a_number_and_a_rate_are_set_each_by_itself_and_reset_together(served: Path, stepward: Stepward) -> None:
    name = "agent:payments"
    assert stepward("limit", "set", name, "--concurrency", "5").stdout == f"limit {name}: 5 at once\n"
    said = stepward("limit", "set", name, "--rate", "50/s", "--note", "the bank asked for it").stdout
    assert said == f"limit {name}: 5 at once and 50/1s started\n"
    (found,) = as_json(stepward, "limit")
    assert (found["concurrency"], found["rate"], found["note"]) == (5, "50/1s", "the bank asked for it")
    assert stepward("limit", "set", name, "--concurrency", "none").stdout == f"limit {name}: 50/1s started\n"
    for wrong in ((), ("--concurrency", "many"), ("--concurrency", "-1")):
        assert stepward("limit", "set", name, *wrong).exit_code == 2
    assert "expected (count, time) or text like '50/s'" in one_line(stepward("limit", "set", name, "--rate", "lots"))
    assert stepward("limit", "reset", name).stdout == f"limit {name}: as declared\n"
    assert as_json(stepward, "limit") == []


def test_an_open_breaker_is_shown_with_its_age(served: Path, stepward: Stepward) -> None:
    act(lambda store: store.host.open_breaker("payments", "agent-a", 15))
    assert as_json(stepward, "agents")[0]["state"] == "breaker open"
    assert "breaker open 0s" in stepward("agents").stdout


@pytest.mark.parametrize("verb", ["suspend", "resume"])
def test_an_unknown_agent_is_one_error_line(served: Path, stepward: Stepward, verb: str) -> None:
    result = stepward("agents", verb, "paymnets\x1b[1m")
    assert result.exit_code == 1
    assert "expected one that was ever served (payments, stock), found none such" in one_line(result)


def test_the_store_may_be_named_before_or_after_the_verb(served: Path, stepward: Stepward) -> None:
    url = f"sqlite:///{served}"
    assert stepward("agents", "--store", url, "suspend", "stock").exit_code == 0
    assert stepward("agents", "resume", "stock", "--store", url).exit_code == 0


def test_a_task_shows_that_its_agent_is_suspended(empty: Path, stepward: Stepward) -> None:
    async def submitted_to_a_suspended_agent() -> str:
        app = load_app(SHOP)
        async with app.running(), app.client() as client:
            await client.suspend_agent("payments", "the bank is down")
        # A process that ran before learns of a suspension a moment later; one that starts now knows of it.
        async with app.running(supervisor=False), app.client() as client:
            task = await client.submit("good", 1, id="held")
            while not await task.steps():  # noqa: ASYNC110 - no event tells of what a store will show
                await asyncio.sleep(0)
            return (await asyncio.to_thread(stepward, "show", "held", COLUMNS="200")).stdout

    shown = asyncio.run(submitted_to_a_suspended_agent())
    assert re.search(r"held up +Agent payments: suspended \d+s by .+: the bank is down; see stepward agents", shown)
