from __future__ import annotations

from stepward.model.alerts.alert_routing import AlertProgress
from stepward.model.records import Alert
from stepward.model.states import TaskState
from stepward.model.tasks.stopped_tasks import KIND, WAITS_FOR, alert_details, stopped_error
from stepward.store.contract import Change, Directive, Store
from tests.store.conformance.world import SERVED, World, audit, claimed, ids, move, scheduler


async def raised(store: Store, *messages: str) -> list[Alert]:
    """Alerts of these messages, oldest first."""
    alerts = [Alert(kind="task_error", message=message) for message in messages]
    await store.scheduler.commit("s1", [Change(task="x", alerts=alerts)], None)
    return (await store.operators.alerts(99, open_only=False))[::-1]


async def progressed(store: Store, alert: Alert, next_try: float | None) -> None:
    """Sinks were asked: all took the alert, or it is due again at ``next_try``."""
    progress = AlertProgress(number=alert.number, resolved_at=alert.resolved_at, tried=True, next_try=next_try)
    await store.supervisor.record_receipts([], [progress])


async def test_one_alert_is_open_for_each_place_where_code_does_not_fit_its_records(world: World, store: Store) -> None:
    places = [b'{"place":"a"}', b'{"place":"b"}', b'{"place":"a"}']
    for place in places:
        alert = Alert(kind="non_deterministic", message="differs", details=place)
        await store.scheduler.commit("s1", [Change(task="x", alerts=[alert])], None)
    assert sorted(alert.details for alert in await store.operators.alerts(9, open_only=True)) == sorted(set(places))


async def test_an_alert_of_code_that_does_not_fit_stands_as_long_as_a_task_waits_at_its_place(
    world: World, store: Store
) -> None:
    tasks = [await claimed(world, store) for _ in range(3)]
    details = alert_details(tasks[0], "shop.py:31")
    alert = Alert(kind=KIND, message="differs", details=details)
    face = {"wake_at": store.now() + 15, "waits_for": WAITS_FOR, "error": stopped_error("differs", "shop.py:31", 1)}
    stop = move(tasks[0], TaskState.WAITING, inbox=0, release=True, **face)
    await store.scheduler.commit("s1", [Change(task=task.uid, move=stop, alerts=[alert]) for task in tasks], None)
    waiting, claimed_again, cancelled = tasks
    assert await store.client.direct(waiting.id, Directive(verb="resubmit", actor="ada")) is TaskState.PENDING
    assert ids(await store.scheduler.claim("s1", SERVED, 9)) == [waiting.id]
    goes_on = Change(task=waiting.uid, move=move(waiting, TaskState.PROCESSING), fits=details)
    await store.scheduler.commit("s1", [goes_on], None)
    assert [found.details for found in await store.operators.alerts(9, open_only=True)] == [details]
    await scheduler(store, "s2")
    assert sorted(ids(await store.scheduler.claim("s2", SERVED, 9))) == sorted([claimed_again.id, cancelled.id])
    await store.scheduler.commit("s2", [Change(task=cancelled.uid, move=stop)], None)
    await store.scheduler.commit("s2", [Change(task=claimed_again.uid, move=goes_on.move, fits=details)], None)
    assert len(await store.operators.alerts(9, open_only=True)) == 1
    await store.client.direct(cancelled.id, Directive(verb="cancel", actor="ada"))
    assert await store.operators.alerts(9, open_only=True) == []


async def test_alerts_are_delivered_oldest_first_and_once(world: World, store: Store) -> None:
    first, second = await raised(store, "one", "two")
    assert (first.at, first.tries) == (store.now(), 0)
    assert (await store.supervisor.due()).alerts == 2
    assert await store.supervisor.undelivered_alerts(9) == [first, second]
    assert await store.supervisor.undelivered_alerts(1) == [first]
    await progressed(store, first, None)
    assert await store.supervisor.undelivered_alerts(9) == [second]
    delivered = (await store.operators.alerts(9, open_only=True))[1]
    assert (delivered.delivered_at, delivered.tries) == (store.now(), 1)


async def test_a_refused_alert_is_tried_again_later(world: World, store: Store) -> None:
    (alert,) = await raised(store, "one")
    await progressed(store, alert, store.now() + 60)
    assert (await store.supervisor.undelivered_alerts(9), (await store.supervisor.due()).alerts) == ([], 0)
    world.clock.advance(60)
    (again,) = await store.supervisor.undelivered_alerts(9)
    assert again.tries == 1


async def test_an_alert_is_acknowledged_once(world: World, store: Store) -> None:
    first, second = await raised(store, "one", "two")
    assert await store.operators.acknowledge(first.number, "ada")
    assert not await store.operators.acknowledge(first.number, "bob")
    assert not await store.operators.acknowledge(99, "bob")
    assert await store.operators.alerts(9, open_only=True) == [second]
    (kept, _) = (await store.operators.alerts(9, open_only=False))[::-1]
    assert (kept.acknowledged_by, kept.acknowledged_at) == ("ada", store.now())
    (entry,) = await store.operators.audits(None, 9)
    assert (entry.actor, entry.act) == ("ada", "acknowledge")


async def test_audits_are_newest_first_and_by_task(world: World, store: Store) -> None:
    task = await claimed(world, store)
    told = [audit(task, "repeat"), audit(None, "fence"), audit(task, "fail")]
    await store.scheduler.commit("s1", [Change(task=task.uid, audits=told)], None)
    assert [entry.act for entry in await store.operators.audits(None, 2)] == ["fail", "fence"]
    assert [entry.act for entry in await store.operators.audits(task.id, 9)] == ["fail", "repeat"]
    assert await store.operators.audits("nobody", 9) == []
