"""Limits, and the slots that instances lease: what holds on every store."""

from __future__ import annotations

import msgspec
import pytest

from stepward.model.limits.flow_limit import FlowLimit, SetLimit
from stepward.model.limits.rate import RateLimit
from stepward.model.limits.slot_shares import SlotClaim, SlotLease
from stepward.model.records import Instance, Role
from stepward.store.contract import Store
from tests.store.conformance.world import World

PAY = FlowLimit(name="agent:pay", declared_concurrency=4)


@pytest.fixture
async def agents(store: Store) -> Store:
    """A store in which two instances serve the Agent ``pay``, four calls of which may run at once."""
    for id in ("a1", "a2"):
        await store.host.register(Instance(id=id, role=Role.AGENT, host="h", pid=1, serves=["pay"]), 60)
    await store.host.declare_limits([PAY], [])
    return store


def claim(store: Store, wanted: int = 9, most: int = 9, busy: int = 0, seconds: float = 30) -> SlotClaim:
    return SlotClaim(agent="pay", wanted=wanted, most=most, busy=busy, until=store.now() + seconds)


async def slots(store: Store) -> dict[str, int]:
    return {lease.instance: lease.slots for lease in await store.host.slots()}


async def test_what_is_declared_holds_until_an_operator_sets_something_else(world: World, agents: Store) -> None:
    assert await agents.operators.limits() == [PAY]
    await agents.operators.set_limit("agent:pay", SetLimit(concurrency=2, note="the bank\0asked"), "ada")
    (found,) = await agents.host.limits()
    assert (found.cap, found.declared_concurrency, found.set_by, found.note) == (
        2,
        4,
        "ada",
        "the bank\N{REPLACEMENT CHARACTER}asked",
    )
    await agents.host.declare_limits([msgspec.structs.replace(PAY, declared_concurrency=6)], [])
    assert [limit.cap for limit in await agents.host.limits()] == [2]
    assert await agents.operators.reset_limit("agent:pay", "bob")
    assert not await agents.operators.reset_limit("agent:pay", "bob")
    assert [limit.cap for limit in await agents.host.limits()] == [6]
    acts = [(act.act, act.actor, act.details) for act in await agents.operators.audits(None, 10)]
    assert [act[:2] for act in acts] == [("reset", "bob"), ("set", "ada")]
    assert msgspec.json.decode(acts[1][2] or b"")["concurrency"] == 2


async def test_a_limit_that_is_neither_declared_nor_set_is_gone(agents: Store) -> None:
    await agents.operators.set_limit("agent:other", SetLimit(concurrency=2), "ada")
    await agents.host.declare_limits([], ["agent:pay", "agent:other"])
    assert [limit.name for limit in await agents.host.limits()] == ["agent:other"]
    await agents.operators.reset_limit("agent:other", "ada")
    assert await agents.host.limits() == []


async def test_what_an_operator_does_not_name_stays_as_it_is_in_force(agents: Store) -> None:
    ten, two = RateLimit(10, 1.0), RateLimit(2, 60.0)
    declared = msgspec.structs.replace(PAY, declared_starts=10, declared_seconds=1.0)
    await agents.host.declare_limits([declared], [])
    await agents.operators.set_limit("agent:pay", SetLimit(concurrency=2), "ada")
    (found,) = await agents.host.limits()
    assert (found.cap, found.rate, found.declared_rate) == (2, ten, ten)
    await agents.operators.set_limit("agent:pay", SetLimit(rate=two), "ada")
    (found,) = await agents.host.limits()
    assert (found.cap, found.rate, found.declared_rate) == (2, two, ten)
    await agents.operators.set_limit("agent:pay", SetLimit(rate=None), "ada")
    (found,) = await agents.host.limits()
    assert (found.cap, found.rate) == (2, None)
    acts = [msgspec.json.decode(act.details or b"") for act in await agents.operators.audits(None, 10)]
    assert [{name: act[name] for name in act if name != "limit"} for act in acts] == [
        {"rate": None},
        {"rate": "2/1m"},
        {"concurrency": 2},
    ]
    await agents.operators.reset_limit("agent:pay", "ada")
    (found,) = await agents.host.limits()
    assert (found.cap, found.rate) == (4, ten)


async def test_a_limit_set_to_nothing_bounds_nothing(agents: Store) -> None:
    await agents.operators.set_limit("agent:pay", SetLimit(concurrency=None), "ada")
    assert await agents.host.lease_slots("a1", [claim(agents)]) == {"pay": None}
    assert await slots(agents) == {}


async def test_the_slots_of_all_instances_are_never_more_than_the_limit(agents: Store) -> None:
    assert await agents.host.lease_slots("a1", [claim(agents)]) == {"pay": 4}
    assert await agents.host.lease_slots("a2", [claim(agents)]) == {"pay": 0}
    assert await agents.host.lease_slots("a1", [claim(agents, busy=3)]) == {"pay": 3}
    assert await agents.host.lease_slots("a2", [claim(agents)]) == {"pay": 1}
    assert await agents.host.lease_slots("a1", [claim(agents, busy=1)]) == {"pay": 2}
    assert await agents.host.lease_slots("a2", [claim(agents)]) == {"pay": 2}
    assert await slots(agents) == {"a1": 2, "a2": 2}


async def test_an_instance_that_ends_gives_back_what_is_not_busy(agents: Store) -> None:
    await agents.host.lease_slots("a1", [claim(agents)])
    assert await agents.host.lease_slots("a1", [claim(agents, wanted=0, most=0, busy=1)]) == {"pay": 1}
    assert await agents.host.lease_slots("a2", [claim(agents)]) == {"pay": 3}
    assert await agents.host.lease_slots("a1", [claim(agents, wanted=0, most=0)]) == {"pay": 0}
    assert await slots(agents) == {"a2": 3}


async def test_a_dead_instance_gets_no_slot_and_keeps_those_it_had(agents: Store) -> None:
    leased = claim(agents)
    await agents.host.lease_slots("a1", [leased])
    await agents.host.retire("a1", in_order=False)
    assert await agents.host.lease_slots("a1", [claim(agents)]) == {"pay": 0}
    assert await agents.host.lease_slots("a2", [claim(agents)]) == {"pay": 0}
    dead = SlotLease(agent="pay", instance="a1", slots=4, wanted=9, most=9, until=leased.until, alive=False)
    assert (await agents.operators.slots())[0] == dead


async def test_the_slots_of_a_dead_instance_are_released_once_its_calls_are_over(world: World, agents: Store) -> None:
    await agents.host.lease_slots("a1", [claim(agents, seconds=30)])
    await agents.host.lease_slots("a2", [claim(agents, seconds=10)])
    term = await agents.supervisor.lead("supervisor", 1000)
    assert term is not None
    await agents.host.retire("a1", in_order=False)
    world.clock.advance(29)
    await agents.host.renew(["a2"], 60)
    assert (await agents.supervisor.due()).slots == 0
    assert await agents.supervisor.release_slots(term) == 0
    world.clock.advance(2)
    await agents.host.renew(["a2"], 60)
    assert (await agents.supervisor.due()).slots == 1
    assert await agents.supervisor.release_slots(term + 1) == 0
    assert await agents.supervisor.release_slots(term) == 1
    # Those of a live instance stay, however long ago it said until when.
    assert await slots(agents) == {"a2": 0}
    assert await agents.host.lease_slots("a2", [claim(agents)]) == {"pay": 4}


async def test_a_grace_is_given_to_the_slots_of_dead_instances_too(world: World, agents: Store) -> None:
    await agents.host.lease_slots("a1", [claim(agents, seconds=5)])
    term = await agents.supervisor.lead("supervisor", 1000)
    assert term is not None
    await agents.host.retire("a1", in_order=False)
    world.clock.advance(100)
    assert await agents.supervisor.forgive(term, 10)
    assert await agents.supervisor.release_slots(term) == 0
    world.clock.advance(11)
    assert await agents.supervisor.release_slots(term) == 1
