from __future__ import annotations

from stepward.model.records import Alert
from stepward.store.contract import Change, Store
from tests.store.conformance.world import World, audit, claimed


async def raised(store: Store, *messages: str) -> list[Alert]:
    """Alerts of these messages, oldest first."""
    alerts = [Alert(kind="task_error", message=message) for message in messages]
    await store.commit("s1", [Change(task="x", alerts=alerts)], None)
    return (await store.alerts(99, open_only=False))[::-1]


async def test_alerts_are_delivered_oldest_first_and_once(world: World, store: Store) -> None:
    first, second = await raised(store, "one", "two")
    assert (first.at, first.tries) == (store.now(), 0)
    assert (await store.due()).alerts == 2
    assert await store.undelivered_alerts(9) == [first, second]
    assert await store.undelivered_alerts(1) == [first]
    await store.alert_delivered(first.number)
    assert await store.undelivered_alerts(9) == [second]
    delivered = (await store.alerts(9, open_only=True))[1]
    assert (delivered.delivered_at, delivered.tries) == (store.now(), 1)


async def test_a_refused_alert_is_tried_again_later(world: World, store: Store) -> None:
    (alert,) = await raised(store, "one")
    await store.alert_refused(alert.number, store.now() + 60)
    assert (await store.undelivered_alerts(9), (await store.due()).alerts) == ([], 0)
    world.clock.advance(60)
    (again,) = await store.undelivered_alerts(9)
    assert again.tries == 1


async def test_an_alert_is_acknowledged_by_somebody_once(world: World, store: Store) -> None:
    first, second = await raised(store, "one", "two")
    assert await store.acknowledge(first.number, "ada")
    assert not await store.acknowledge(first.number, "bob")
    assert not await store.acknowledge(99, "bob")
    assert await store.alerts(9, open_only=True) == [second]
    (kept, _) = (await store.alerts(9, open_only=False))[::-1]
    assert (kept.acknowledged_by, kept.acknowledged_at) == ("ada", store.now())
    (entry,) = await store.audits(None, 9)
    assert (entry.actor, entry.act) == ("ada", "acknowledge")


async def test_audits_are_newest_first_and_by_task(world: World, store: Store) -> None:
    task = await claimed(world, store)
    told = [audit(task, "repeat"), audit(None, "fence"), audit(task, "fail")]
    await store.commit("s1", [Change(task=task.uid, audits=told)], None)
    assert [entry.act for entry in await store.audits(None, 2)] == ["fail", "fence"]
    assert [entry.act for entry in await store.audits(task.id, 9)] == ["fail", "repeat"]
    assert await store.audits("nobody", 9) == []
