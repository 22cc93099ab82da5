"""The audit's oldest acts and acknowledged alerts: read, deleted, and the chain of what is left."""

from __future__ import annotations

import pytest

from stepward.model.records import Alert, Audit
from stepward.store.contract import Change, OldRecords, Store
from stepward.store.contract.by_subject.retention import PAGE_BYTES, PAGE_ROWS
from stepward.store.rules.audit.audit_verification import Verification
from tests.store.conformance.world import World


@pytest.fixture
async def term(store: Store) -> int:
    term = await store.supervisor.lead("supervisor", 1e6)
    assert term is not None
    return term


async def acted(store: Store, *acts: str, details: bytes = b"{}") -> None:
    audits = [Audit(actor="ada", act=act, details=details) for act in acts]
    await store.scheduler.commit("s1", [Change(task="x", audits=audits)], None)


async def alerted(store: Store, *messages: str) -> None:
    alerts = [Alert(kind="task_error", message=message) for message in messages]
    await store.scheduler.commit("s1", [Change(task="x", alerts=alerts)], None)


async def verified(store: Store) -> Verification:
    chain = Verification()
    after = 0
    while acts := await store.operators.acts(after):
        for act in acts:
            chain.add(act)
        after = acts[-1].audit.number
    chain.ended()
    return chain


def names(records: OldRecords) -> list[str]:
    return [act.audit.act for act in records.acts]


async def test_old_acts_go_from_the_beginning_and_the_chain_stays_whole(world: World, store: Store, term: int) -> None:
    await acted(store, "one", "two")
    world.clock.advance(100)
    before = store.now() - 50
    await acted(store, "three")
    records = await store.supervisor.old_records(before)
    assert names(records) == ["one", "two"]
    assert await store.supervisor.prune(term, records) == 2
    assert [entry.act for entry in await store.operators.audits(None, 9)] == ["prune", "three"]
    chain = await verified(store)
    assert (chain.breaks, chain.count, chain.archived and chain.archived.number) == (
        [],
        2,
        records.acts[-1].audit.number,
    )
    # Again and again, and with all of them at once.
    world.clock.advance(100)
    assert await store.operators.prune_as(await store.supervisor.old_records(store.now()), "ada") == 2
    (last,) = await store.operators.audits(None, 9)
    assert (last.act, last.actor) == ("prune", "ada")
    await acted(store, "four")
    assert (await verified(store)).breaks == []


async def test_pruning_alone_is_no_reason_to_prune(world: World, store: Store, term: int) -> None:
    await acted(store, "one")
    world.clock.advance(100)
    assert await store.supervisor.prune(term, await store.supervisor.old_records(store.now())) == 1
    world.clock.advance(100)
    assert await store.supervisor.old_records(store.now()) == OldRecords([], [])


async def test_acknowledged_alerts_go_and_open_ones_stay(world: World, store: Store, term: int) -> None:
    await alerted(store, "seen", "open", "seen later")
    seen, opened, later = (await store.operators.alerts(9, open_only=False))[::-1]
    await store.operators.acknowledge(seen.number, "ada")
    world.clock.advance(100)
    before = store.now() - 50
    await store.operators.acknowledge(later.number, "ada")
    records = await store.supervisor.old_records(before)
    assert [alert.message for alert in records.alerts] == ["seen"]
    assert await store.supervisor.prune(term, records) == 2
    assert [alert.number for alert in await store.operators.alerts(9, open_only=False)] == [later.number, opened.number]


async def test_one_page_is_read_and_deleted_at_a_time(world: World, store: Store, term: int) -> None:
    await acted(store, *["one"] * (PAGE_ROWS + 5))
    world.clock.advance(100)
    before = store.now() - 50
    assert await store.supervisor.prune(term, await store.supervisor.old_records(before)) == PAGE_ROWS
    assert await store.supervisor.prune(term, await store.supervisor.old_records(before)) == 5
    for _ in range(3):
        await acted(store, "large", details=b'"%s"' % (b"x" * (PAGE_BYTES // 2)))
    world.clock.advance(100)
    assert names(await store.supervisor.old_records(store.now())) == ["prune", "prune", "large", "large"]
    assert (await verified(store)).breaks == []


async def test_a_second_pruning_prunes_nothing(world: World, store: Store, term: int) -> None:
    await acted(store, "one")
    await alerted(store, "seen")
    (alert,) = await store.operators.alerts(9, open_only=True)
    await store.operators.acknowledge(alert.number, "ada")
    world.clock.advance(100)
    records = await store.supervisor.old_records(store.now())
    other = await world.open()
    assert await other.operators.prune_as(records, "ada") == 3
    assert await store.supervisor.prune(term, records) == 0
    assert await store.supervisor.prune(term + 1, await store.supervisor.old_records(store.now() + 1)) == 0
    assert [entry.act for entry in await store.operators.audits(None, 9)] == ["prune"]


async def test_a_removed_or_changed_act_is_noticed_behind_an_archived_beginning(
    world: World, store: Store, term: int
) -> None:
    await acted(store, "one", "two")
    world.clock.advance(100)
    await store.supervisor.prune(term, await store.supervisor.old_records(store.now()))
    await acted(store, "three", "four", "five")
    acts = await store.operators.acts(0)
    prune, three, four, five = acts
    forged = type(four)(
        Audit(**{name: getattr(four.audit, name) for name in Audit.__struct_fields__} | {"actor": "eve"}), four.hash
    )
    for shown, broken in (
        ([prune, three, four, five], []),
        ([prune, four, five], [four]),
        ([prune, three, forged, five], [four]),
        ([three, four, five], [three]),
        ([four, five], [four]),
    ):
        chain = Verification()
        for act in shown:
            chain.add(act)
        assert [each.number for each in chain.ended()] == [act.audit.number for act in broken]
