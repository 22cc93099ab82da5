"""Alerts as the outbox of their sinks: what each took is recorded, and an end makes an alert due again."""

from __future__ import annotations

from msgspec.structs import replace

from stepward.model.alerts.alert_routing import EVERY_ALERT, AlertProgress, AlertReceipt, ReportedSink, is_for
from stepward.model.alerts.silences import AlertSilence
from stepward.model.records import Alert, Instance, Role
from stepward.model.states import TaskState
from stepward.settings.sink_settings import Severity
from stepward.store.contract import Change, Directive, OldRecords, Store
from stepward.store.contract.by_subject.alerts import MOST_SILENCES
from tests.store.conformance.world import World, claimed, move

DETAILS = b'{"queue":"agents.mail"}'


async def refused_queue(store: Store) -> Alert:
    """The alert on a queue, with what a sink took of it recorded."""
    await store.host.warn(Alert(kind="queue_refused", message="no", details=DETAILS))
    (alert,) = await store.supervisor.undelivered_alerts(9)
    return alert


def taken(alert: Alert, next_try: float | None = None) -> AlertProgress:
    return AlertProgress(number=alert.number, resolved_at=alert.resolved_at, tried=True, next_try=next_try)


async def test_what_a_sink_took_stands_whatever_is_recorded_later(world: World, store: Store) -> None:
    alert = await refused_queue(store)
    took = AlertReceipt(number=alert.number, sink="log", raised_at=store.now())
    refused = AlertReceipt(number=alert.number, sink="ops", tries=3, next_try=store.now() + 4, error="down\0")
    await store.supervisor.record_receipts([refused, took], [taken(alert, store.now() + 4)])
    stale = AlertReceipt(number=alert.number, sink="log", tries=1, next_try=9.0, error="late")
    await store.supervisor.record_receipts([stale], [])
    log, ops = await store.supervisor.alert_receipts([alert.number, 99])
    assert (log.raised_at, log.error, ops.tries, ops.error) == (took.raised_at, "late", 3, "down\ufffd")
    assert await store.supervisor.undelivered_alerts(9) == []


async def test_a_silence_is_set_replaced_and_ended_in_the_audit(world: World, store: Store) -> None:
    began = store.now()
    first = AlertSilence(kind="task_error", until=began + 600, note="the bank\0knows")
    assert await store.operators.silence(first, "ada")
    assert await store.operators.silence(replace(first, workflow="order", until=began + 60, note=None), "ada")
    assert await store.operators.silence(replace(first, until=began + 1200), "bob")
    every, of_order = await store.supervisor.alert_silences()
    assert (every.until, every.set_by, every.note) == (began + 1200, "bob", "the bank\N{REPLACEMENT CHARACTER}knows")
    assert (of_order.workflow, of_order.until, of_order.set_at, of_order.note) == ("order", began + 60, began, None)
    assert await store.operators.unsilence("task_error", "order", "eve")
    assert not await store.operators.unsilence("task_error", "order", "eve")
    assert not await store.operators.unsilence("in_doubt", None, "eve")
    found = {each.workflow: each.until for each in await store.operators.alert_silences()}
    assert found == {None: began + 1200, "order": began}
    acts = [(act.act, act.actor) for act in await store.operators.audits(None, 9)]
    assert acts == [("unsilence", "eve"), ("silence", "bob"), ("silence", "ada"), ("silence", "ada")]
    world.clock.advance(2 * 86_400.0)
    assert await store.operators.silence(replace(first, kind="in_doubt", until=store.now() + 1), "ada")
    assert [each.kind for each in await store.operators.alert_silences()] == ["in_doubt"]


async def test_alerts_that_a_silence_holds_are_due_once_it_ends_or_changes(world: World, store: Store) -> None:
    alert = await refused_queue(store)
    for ends in (True, False):
        silence = AlertSilence(kind="queue_refused", until=store.now() + 600)
        await store.operators.silence(silence, "ada")
        held = AlertProgress(number=alert.number, resolved_at=None, tried=False, next_try=silence.until)
        await store.supervisor.record_receipts([], [held])
        assert await store.supervisor.undelivered_alerts(9) == []
        if ends:
            await store.operators.unsilence("queue_refused", None, "ada")
        else:
            await store.operators.silence(replace(silence, until=store.now() + 1), "ada")
        assert [each.number for each in await store.supervisor.undelivered_alerts(9)] == [alert.number]


async def test_there_are_only_so_many_silences(world: World, store: Store) -> None:
    silence = AlertSilence(kind="task_error", until=store.now() + 600)
    for number in range(MOST_SILENCES):
        assert await store.operators.silence(replace(silence, workflow=f"w{number}"), "ada")
    assert not await store.operators.silence(silence, "ada")
    assert await store.operators.silence(replace(silence, workflow="w1"), "ada")


async def test_an_alert_that_is_resolved_is_due_again(world: World, store: Store) -> None:
    alert = await refused_queue(store)
    await store.supervisor.record_receipts([], [taken(alert)])
    await store.host.end_warning("queue_refused", DETAILS, "s1")
    (due,) = await store.supervisor.undelivered_alerts(9)
    assert (due.resolved_at, due.acknowledged_at, due.delivered_at) == (store.now(), store.now(), None)
    assert (await store.supervisor.due()).alerts == 1
    await store.supervisor.record_receipts([], [taken(due)])
    assert (await store.supervisor.due()).alerts == 0


async def test_a_delivery_is_not_recorded_of_an_alert_that_was_resolved_meanwhile(world: World, store: Store) -> None:
    alert = await refused_queue(store)
    await store.host.end_warning("queue_refused", DETAILS, "s1")
    await store.supervisor.record_receipts([], [taken(alert)])
    (due,) = await store.supervisor.undelivered_alerts(9)
    assert (due.delivered_at, due.tries) == (None, 0)


async def test_an_alert_of_a_task_is_resolved_when_the_task_is_resubmitted(world: World, store: Store) -> None:
    task = await claimed(world, store)
    alerts = [Alert(kind=kind, task=task.uid, task_id=task.id, message="no") for kind in ("task_error", "in_doubt")]
    ends = move(task, TaskState.ERROR, inbox=0, release=True, error=b'{"message":"no"}')
    await store.scheduler.commit("s1", [Change(task=task.uid, move=ends, alerts=alerts)], None)
    await store.client.direct(task.id, Directive(verb="resubmit", actor="ada"))
    in_doubt, error = await store.operators.alerts(9, open_only=False)
    assert (error.kind, error.resolved_at, error.acknowledged_by) == ("task_error", store.now(), "stepward")
    assert (in_doubt.resolved_at, in_doubt.acknowledged_at) == (None, None)
    assert (error.workflow, error.severity) == (task.workflow, Severity.ERROR)


async def test_an_acknowledged_alert_is_not_resolved(world: World, store: Store) -> None:
    alert = await refused_queue(store)
    await store.supervisor.record_receipts([], [taken(alert)])
    await store.operators.acknowledge(alert.number, "ada")
    await store.host.end_warning("queue_refused", DETAILS, "s1")
    (known,) = await store.operators.alerts(9, open_only=False)
    assert (known.resolved_at, known.acknowledged_by, known.delivered_at) == (None, "ada", store.now())


async def test_an_unserved_alert_is_resolved_by_the_instance_that_serves(world: World, store: Store) -> None:
    details = b'{"workflow":"refund","version":"1"}'
    await store.host.warn(Alert(kind="unserved", message="no", details=details))
    instance = Instance(id="s9", role=Role.SCHEDULER, host="h", pid=1, serves=["refund@1"])
    await store.host.register(instance, 10.0)
    (alert,) = await store.operators.alerts(9, open_only=False)
    assert (alert.resolved_at, alert.acknowledged_by) == (store.now(), "s9")


async def test_receipts_are_deleted_with_their_alert(world: World, store: Store) -> None:
    alert = await refused_queue(store)
    await store.supervisor.record_receipts([AlertReceipt(number=alert.number, sink="log", raised_at=1.0)], [])
    await store.operators.acknowledge(alert.number, "ada")
    old = await store.operators.old_records(store.now() + 1)
    await store.operators.prune_as(OldRecords([], old.alerts), "ada")
    assert await store.supervisor.alert_receipts([alert.number]) == []


async def test_a_test_of_a_sink_is_an_alert_for_it_alone_that_needs_no_operator(world: World, store: Store) -> None:
    term = await store.supervisor.lead("p1", 30.0)
    assert term is not None
    sinks = [ReportedSink("ops", "webhook https://hooks.example.com/…: all alerts"), ReportedSink("log", "log: all")]
    assert await store.supervisor.report_sinks(term, sinks)
    assert [sink.name for sink in await store.operators.alert_sinks()] == ["log", "ops"]
    number = await store.operators.test_sink("ops", "ada")
    assert await store.operators.test_sink("nobody", "ada") is None
    assert await store.operators.alerts(9, open_only=True) == []
    (due,) = await store.supervisor.undelivered_alerts(9)
    assert (due.number, due.kind, due.acknowledged_by, due.severity) == (number, "sink_test", "ada", Severity.INFO)
    assert (is_for(due, "ops", EVERY_ALERT), is_for(due, "log", EVERY_ALERT)) == (True, False)
    (act,) = [audit for audit in await store.operators.audits(None, 9) if audit.act == "test"]
    assert act.actor == "ada"
    assert await store.supervisor.report_sinks(term, sinks[:1])
    assert not await store.supervisor.report_sinks(term + 1, [])
    assert [sink.name for sink in await store.operators.alert_sinks()] == ["ops"]
