from __future__ import annotations

from stepward.model.records import Alert
from stepward.store.contract import Change, Store
from stepward.store.rules.batches import in_scope
from stepward.store.search.conditions import Comparison, Operator
from stepward.store.search.fields import SearchField
from tests.store.conformance.world import World, claimed

DETAILS = b'{"queue":"agents.mail"}'


def refused(details: bytes = DETAILS) -> Alert:
    return Alert(kind="queue_refused", message="queue agents.mail: refused", details=details)


async def test_a_queue_has_one_open_alert_of_a_kind(store: Store) -> None:
    for details in (DETAILS, DETAILS, b'{"queue":"agents.bank"}'):
        await store.host.warn(refused(details))
    assert [alert.details for alert in await store.operators.alerts(9, open_only=True)] == [
        b'{"queue":"agents.bank"}',
        DETAILS,
    ]


async def test_a_warning_that_is_over_is_acknowledged_and_may_be_raised_again(store: Store) -> None:
    await store.host.warn(refused())
    await store.host.warn(refused(b'{"queue":"agents.bank"}'))
    await store.host.end_warning("queue_refused", DETAILS, "scheduler-1")
    await store.host.end_warning("queue_refused", DETAILS, "scheduler-1")
    (still_open,) = await store.operators.alerts(9, open_only=True)
    assert still_open.details == b'{"queue":"agents.bank"}'
    audits = [audit for audit in await store.operators.audits(None, 9) if audit.act == "acknowledge"]
    assert [audit.actor for audit in audits] == ["scheduler-1"]
    await store.host.warn(refused())
    assert len(await store.operators.alerts(9, open_only=True)) == 2


async def test_the_alerts_of_a_task_are_found_among_those_of_others(world: World, store: Store) -> None:
    task, other = await claimed(world, store), await claimed(world, store)
    for uid, message in ((task.uid, "old"), (other.uid, "other"), (task.uid, "new")):
        alert = Alert(kind="task_error", task=uid, message=message)
        assert (await store.scheduler.commit("s1", [Change(task=uid, alerts=[alert])], None)).missed == {}
    found = await store.operators.task_alerts(task.id, 9, open_only=True)
    assert [alert.message for alert in found] == ["new", "old"]
    assert {alert.workflow for alert in found} == {task.workflow}
    assert await store.operators.acknowledge(found[0].number, "ada")
    assert await store.operators.task_alerts(task.id, 9, open_only=True) == found[1:]
    assert [alert.message for alert in await store.operators.task_alerts(task.id, 1, open_only=False)] == ["new"]
    assert await store.operators.task_alerts("none", 9, open_only=False) == []


async def test_alerts_of_tasks_in_scope_are_found_behind_those_of_others(world: World, store: Store) -> None:
    task, other = await claimed(world, store), await claimed(world, store)
    for uid, message in ((task.uid, "old"), *((other.uid, f"other {n}") for n in range(20)), (task.uid, "new")):
        alert = Alert(kind="task_error", task=uid, message=message)
        assert (await store.scheduler.commit("s1", [Change(task=uid, alerts=[alert])], None)).missed == {}
    await store.host.warn(refused())
    scope = Comparison(SearchField.ID, Operator.EQUAL, task.id)
    found = await store.operators.alerts_of(scope, 9, open_only=True)
    assert [alert.message for alert in found] == ["new", "old"]
    assert found == await store.operators.task_alerts(task.id, 9, open_only=True)
    assert await store.operators.alerts_of(scope, 1, open_only=True) == found[:1]
    assert await store.operators.alerts_of(scope, 1, True, found[1].number) == found[1:]
    (of_other, *_) = await store.operators.task_alerts(other.id, 9, open_only=True)
    assert await store.operators.alerts_of(scope, 1, True, of_other.number) == []
    assert await store.operators.acknowledge(found[0].number, "ada")
    assert await store.operators.alerts_of(scope, 9, open_only=True) == found[1:]
    assert len(await store.operators.alerts_of(scope, 9, open_only=False)) == 2
    assert len(await store.operators.alerts_of(in_scope([task.workflow], {}), 99, open_only=True)) == 21
    assert await store.operators.alerts_of(in_scope(["others"], {}), 99, open_only=True) == []
