"""How all instances of an Agent stand together: known, reported, suspended, behind one breaker."""

from __future__ import annotations

import msgspec
import pytest

from stepward.model.agents import AgentHealth, AgentStanding, Report
from stepward.model.records import Instance, Role
from stepward.store.contract import Store
from tests.store.conformance.world import World, scheduler

HEALTH = AgentHealth(agent="pay", capacity=4, in_flight=3, stuck=1, breaker="open")


@pytest.fixture
async def agents(store: Store) -> Store:
    """A store in which two instances serve the Agent ``pay``."""
    for id in ("a1", "a2"):
        await store.host.register(Instance(id=id, role=Role.AGENT, host="h", pid=1, serves=["pay", "ship"]), 60)
    return store


async def standing(store: Store, name: str = "pay") -> AgentStanding:
    (found,) = [each for each in await store.operators.standings() if each.name == name]
    return found


async def test_agents_are_known_once_an_instance_serves_them(agents: Store) -> None:
    assert await agents.operators.standings() == [AgentStanding(name="pay"), AgentStanding(name="ship")]


async def test_only_agents_are_agents(store: Store) -> None:
    await scheduler(store, "s2", serves="order@2")
    assert await store.operators.standings() == []


async def test_what_an_instance_says_stands_until_it_says_something_else(agents: Store) -> None:
    said = {"a1": Report(health=[HEALTH]), "s1": Report(demand={"pay": 7}, waits={"pay": 41.5})}
    assert await agents.host.renew(["a1", "a2", "s1"], 10, said) == {"a1", "a2", "s1"}
    await agents.host.renew(["a1", "s1"], 10)
    found = {instance.id: instance for instance in await agents.operators.instances()}
    assert (found["a1"].health, found["a2"].health, found["s1"].health) == ([HEALTH], [], [])
    assert (found["s1"].demand, found["a1"].demand) == ({"pay": 7}, {})
    assert (found["s1"].waits, found["a1"].waits) == ({"pay": 41.5}, {})
    await agents.host.renew(["a1"], 10, {"a1": Report()})
    assert {instance.id: instance.health for instance in await agents.operators.instances()}["a1"] == []


async def test_the_dead_say_nothing(agents: Store) -> None:
    await agents.host.retire("a1")
    assert await agents.host.renew(["a1"], 10, {"a1": Report(health=[HEALTH])}) == set()
    (dead,) = [instance for instance in await agents.operators.instances() if instance.id == "a1"]
    assert dead.health == []


async def test_an_instance_says_how_it_is_when_it_registers(store: Store) -> None:
    await store.host.register(Instance(id="a1", role=Role.AGENT, host="h", pid=1, serves=["pay"], health=[HEALTH]), 60)
    (found,) = [instance for instance in await store.operators.instances() if instance.id == "a1"]
    assert found.health == [HEALTH]


async def test_a_breaker_is_open_for_all_from_its_first_opening_on(world: World, agents: Store) -> None:
    at = agents.now()
    assert await agents.host.open_breaker("pay", "a1", 15)
    assert await standing(agents) == AgentStanding(name="pay", opened_at=at, asks_at=at + 15)
    world.clock.advance(5)
    assert not await agents.host.open_breaker("pay", "a2", 15)
    assert (await standing(agents)).asks_at == at + 15
    assert not (await standing(agents, "ship")).is_open


async def test_one_instance_alone_is_granted_the_probe(world: World, agents: Store) -> None:
    await agents.host.open_breaker("pay", "a1", 15)
    world.clock.advance(14.9)
    assert not await agents.host.grant_probe("pay", "a1", 15)
    world.clock.advance(0.2)
    assert await agents.host.grant_probe("pay", "a2", 15)
    assert not await agents.host.grant_probe("pay", "a1", 15)
    assert not await agents.host.grant_probe("pay", "a2", 15)
    assert (await standing(agents)).probe_by == "a2"


async def test_a_probe_that_never_ended_is_another_instances(world: World, agents: Store) -> None:
    await agents.host.open_breaker("pay", "a1", 15)
    world.clock.advance(15)
    assert await agents.host.grant_probe("pay", "a2", 15)
    world.clock.advance(15)
    assert await agents.host.grant_probe("pay", "a1", 15)
    # Who comes too late changes nothing.
    assert not await agents.host.close_breaker("pay", "a2")
    assert not await agents.host.open_breaker("pay", "a2", 15)
    assert (await standing(agents)).probe_by == "a1"


async def test_a_probe_that_succeeds_closes_for_all(world: World, agents: Store) -> None:
    await agents.host.open_breaker("pay", "a1", 15)
    assert not await agents.host.close_breaker("pay", "a1")
    world.clock.advance(15)
    await agents.host.grant_probe("pay", "a1", 15)
    assert await agents.host.close_breaker("pay", "a1")
    assert await standing(agents) == AgentStanding(name="pay")
    assert not await agents.host.grant_probe("pay", "a1", 15)


async def test_a_probe_that_fails_keeps_it_open(world: World, agents: Store) -> None:
    at = agents.now()
    await agents.host.open_breaker("pay", "a1", 15)
    world.clock.advance(15)
    await agents.host.grant_probe("pay", "a2", 15)
    world.clock.advance(1)
    assert await agents.host.open_breaker("pay", "a2", 15)
    assert await standing(agents) == AgentStanding(name="pay", opened_at=at, asks_at=at + 31)


async def test_the_dead_neither_open_nor_probe_nor_close(world: World, agents: Store) -> None:
    await agents.host.retire("a1")
    assert not await agents.host.open_breaker("pay", "a1", 15)
    await agents.host.open_breaker("pay", "a2", 15)
    world.clock.advance(15)
    assert not await agents.host.grant_probe("pay", "a1", 15)
    await agents.host.grant_probe("pay", "a2", 15)
    await agents.host.retire("a2")
    assert not await agents.host.close_breaker("pay", "a2")
    assert (await standing(agents)).is_open


async def test_an_operators_suspension_and_resumption_are_audited(world: World, agents: Store) -> None:
    at = agents.now()
    assert await agents.operators.suspend_agent("pay", "the bank\0asked for it", "ada")
    found = await standing(agents)
    assert (found.suspended_at, found.suspended_by, found.is_suspended) == (at, "ada", True)
    assert found.note is not None
    assert found.note.startswith("the bank")
    world.clock.advance(1)
    assert not await agents.operators.suspend_agent("pay", None, "eve")
    assert (await standing(agents)).suspended_by == "ada"
    assert await agents.operators.resume_agent("pay", "bob")
    assert not await agents.operators.resume_agent("pay", "bob")
    assert await standing(agents) == AgentStanding(name="pay")
    acts = [
        (each.actor, each.act, msgspec.json.decode(each.details)["agent"])
        for each in await agents.operators.audits(None, 2)
    ]
    assert acts == [("bob", "resume", "pay"), ("ada", "suspend", "pay")]


async def test_an_agent_that_was_never_served_is_not_suspended(agents: Store) -> None:
    assert not await agents.operators.suspend_agent("other", None, "ada")
    assert not await agents.operators.resume_agent("other", "ada")
    assert await agents.operators.audits(None, 9) == []


async def test_resuming_closes_a_breaker_that_only_other_programs_are_left_to_serve(agents: Store) -> None:
    await agents.host.register(Instance(id="elsewhere", role=Role.AGENT, host="/other", pid=0, serves=["pay"]), 60)
    assert await agents.host.open_breaker("pay", "a1", 30)
    assert not await agents.operators.resume_agent("pay", "ada")
    assert (await standing(agents)).is_open
    await agents.host.retire("a1")
    assert await agents.operators.suspend_agent("pay", None, "ada")
    assert await agents.operators.resume_agent("pay", "ada")
    assert (await standing(agents)).is_open, "a2 may probe"
    await agents.host.retire("a2")
    assert await agents.operators.resume_agent("pay", "ada")
    assert await standing(agents) == AgentStanding(name="pay")
    assert not await agents.operators.resume_agent("pay", "ada")
    assert [each.act for each in await agents.operators.audits(None, 9)] == ["resume", "resume", "suspend"]


async def test_resuming_closes_a_breaker_whose_last_processes_crashed(world: World, agents: Store) -> None:
    await agents.host.register(Instance(id="elsewhere", role=Role.AGENT, host="/other", pid=0, serves=["pay"]), 600)
    assert await agents.host.open_breaker("pay", "a1", 30)
    world.clock.advance(61)
    # No Supervisor has declared them dead yet; their leases are over all the same.
    assert await agents.operators.resume_agent("pay", "ada")
    assert not (await standing(agents)).is_open


async def test_a_suspended_agent_stays_so_when_it_is_served_again(agents: Store) -> None:
    await agents.operators.suspend_agent("pay", None, "ada")
    await agents.host.register(Instance(id="a3", role=Role.AGENT, host="h", pid=1, serves=["pay"]), 60)
    assert (await standing(agents)).is_suspended
