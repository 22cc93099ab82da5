"""Webhooks: their events wait in order, and in one commit it is recorded what became of them."""

from __future__ import annotations

from msgspec.structs import replace

from stepward.model.messages.webhook_retries import Deliveries, RefusedEvent, Webhook
from stepward.model.records import WorkflowRecord
from stepward.model.states import TaskState
from stepward.store.contract import AddedEvents, Change, Store
from tests.store.conformance.test_status_events import told
from tests.store.conformance.world import SERVED, World, claimed, move

QUEUE = "webhooks.shop.crm"
NEWEST = 1 << 40
CRM = Webhook(name="crm", description="https://crm.example.com/…")


async def with_events(world: World, store: Store, count: int = 3) -> list[int]:
    """The tokens of that many events, of a webhook that was reported."""
    await store.supervisor.report_webhooks([CRM])
    await store.messages.put(QUEUE, [(b'{"n":%d}' % n, None) for n in range(count)])
    return [event.token for event in await store.supervisor.waiting_events(QUEUE, 0, NEWEST, 99)]


def outcome(webhook: Webhook, **fields: object) -> Deliveries:
    return replace(Deliveries(taken=[], refused=[], dead=[], webhook=webhook), **fields)


async def test_what_is_taken_is_gone_what_is_refused_waits_and_what_is_given_up_is_a_dead_letter(
    world: World, store: Store
) -> None:
    first, second, third = await with_events(world, store)
    now = store.now()
    refused = RefusedEvent(token=second, tries=1, refused_at=now, next_try=now + 1, error="no\0")
    fares = replace(CRM, taken_at=now, error="no\0", next_try=now)
    done = outcome(fares, taken=[first], refused=[refused], dead=[(third, "never")])
    await store.supervisor.record_deliveries(QUEUE, done)
    (left,) = await store.supervisor.waiting_events(QUEUE, 0, NEWEST, 99)
    assert (left.token, left.tries, left.refused_at, left.next_try) == (second, 1, now, now + 1)
    (letter,) = await store.operators.dead_letters(9)
    assert (letter.queue, letter.reason) == (QUEUE, "never")
    (webhook,) = await store.operators.webhooks()
    assert (webhook.taken, webhook.taken_at, webhook.error, webhook.state) == (1, now, "no\ufffd", "enabled")
    again = replace(refused, tries=2, refused_at=now + 9, next_try=now + 3)
    await store.supervisor.record_deliveries(QUEUE, outcome(fares, refused=[again]))
    (left,) = await store.supervisor.waiting_events(QUEUE, 0, NEWEST, 99)
    assert (left.tries, left.refused_at, left.next_try) == (2, now, now + 3)
    assert await store.supervisor.waiting_events(QUEUE, second, NEWEST, 99) == []


async def test_a_dead_letter_that_is_put_back_waits_as_new(world: World, store: Store) -> None:
    first, *_ = await with_events(world, store, 1)
    await store.supervisor.record_deliveries(QUEUE, outcome(CRM, dead=[(first, "never")]))
    (letter,) = await store.operators.dead_letters(9)
    assert await store.operators.put_back([letter.number], "ada") == [letter.number]
    (event,) = await store.supervisor.waiting_events(QUEUE, 0, NEWEST, 99)
    assert (event.body, event.tries, event.refused_at) == (b'{"n":0}', 0, None)


async def test_a_webhook_is_disabled_with_an_alert_that_ends_when_it_is_enabled(world: World, store: Store) -> None:
    await with_events(world, store, 1)
    off = replace(CRM, disabled_at=store.now(), disabled_by="supervisor", error="down")
    await store.supervisor.record_deliveries(QUEUE, outcome(off))
    await store.supervisor.record_deliveries(QUEUE, outcome(off))
    (alert,) = await store.operators.alerts(9, open_only=True)
    assert alert.kind == "webhook_disabled" and "stepward webhooks enable crm" in alert.message
    assert not await store.operators.disable_webhook("crm", "ada")
    assert await store.operators.enable_webhook("crm", "ada")
    assert not await store.operators.enable_webhook("crm", "ada")
    assert await store.operators.alerts(9, open_only=True) == []
    (webhook,) = await store.operators.webhooks()
    assert (webhook.state, webhook.tries, webhook.next_try) == ("enabled", 0, 0.0)
    assert [(act.actor, act.act) for act in await store.operators.audits(None, 9)] == [
        ("ada", "enable"),
        ("ada", "acknowledge"),
    ]


async def test_what_waits_for_a_webhook_that_is_enabled_counts_as_new(world: World, store: Store) -> None:
    first, second, _ = await with_events(world, store)
    await store.messages.put("webhooks.shop.ledger", [(b"{}", None)])
    (other,) = await store.supervisor.waiting_events("webhooks.shop.ledger", 0, NEWEST, 99)
    refused = [RefusedEvent(token=each, tries=9, refused_at=1.0, next_try=2.0, error="no") for each in (first, second)]
    off = replace(CRM, disabled_at=store.now(), disabled_by="supervisor", error="down")
    await store.supervisor.record_deliveries(QUEUE, outcome(off, refused=refused))
    elsewhere = outcome(replace(CRM, name="ledger"), refused=[replace(refused[0], token=other.token)])
    await store.supervisor.record_deliveries("webhooks.shop.ledger", elsewhere)
    assert await store.operators.enable_webhook("crm", "ada")
    found = await store.supervisor.waiting_events(QUEUE, 0, NEWEST, 99)
    assert [(event.tries, event.refused_at, event.next_try) for event in found] == [(0, None, 0.0)] * 3
    (other,) = await store.supervisor.waiting_events("webhooks.shop.ledger", 0, NEWEST, 99)
    assert other.tries == 9


async def test_events_are_read_up_to_the_newest_one_of_before(world: World, store: Store) -> None:
    assert await store.supervisor.newest_event(QUEUE) == 0
    first, second, third = await with_events(world, store)
    await store.messages.put("webhooks.shop.ledger", [(b"{}", None)])
    assert await store.supervisor.newest_event(QUEUE) == third
    found = await store.supervisor.waiting_events(QUEUE, first, second, 99)
    assert [event.token for event in found] == [second]


async def test_what_an_operator_disabled_stays_so_whatever_is_recorded(world: World, store: Store) -> None:
    (first,) = await with_events(world, store, 1)
    assert await store.operators.disable_webhook("crm", "ada")
    assert not await store.operators.disable_webhook("pager", "ada")
    await store.supervisor.record_deliveries(QUEUE, outcome(replace(CRM, tries=3), taken=[first]))
    await store.supervisor.report_webhooks([CRM])
    (webhook,) = await store.operators.webhooks()
    assert (webhook.state, webhook.disabled_by, webhook.tries) == ("disabled", "ada", 0)
    assert await store.supervisor.waiting_events(QUEUE, 0, NEWEST, 99) == []


async def test_webhooks_that_are_no_longer_declared_are_forgotten(world: World, store: Store) -> None:
    await store.supervisor.report_webhooks([CRM, replace(CRM, name="ledger")])
    await store.supervisor.report_webhooks([replace(CRM, name="ledger", description="http://localhost/…")])
    (webhook,) = await store.operators.webhooks()
    assert (webhook.name, webhook.description) == ("ledger", "http://localhost/…")


async def test_a_webhook_without_a_declaration_stays_disabled_until_it_is_enabled(world: World, store: Store) -> None:
    await store.supervisor.report_webhooks([CRM])
    await store.operators.disable_webhook("crm", "ada")
    await store.supervisor.report_webhooks([])
    assert [webhook.state for webhook in await store.operators.webhooks()] == ["disabled"]
    await store.operators.enable_webhook("crm", "ada")
    await store.supervisor.report_webhooks([])
    assert await store.operators.webhooks() == []


async def test_each_queue_of_an_event_gets_it_and_it_is_counted_once(world: World, store: Store) -> None:
    both = "replies.shop.web", QUEUE
    task = await claimed(world, store, reply_to=both[0], events_to=f"{QUEUE}:ab")
    assert await told(store, QUEUE) == [(task.id, 1, "request.received"), (task.id, 2, "task.started")]
    end = Change(task=task.uid, move=move(task, TaskState.PROCESSED), status_events=AddedEvents(2, [b"{}"], [both]))
    assert (await store.scheduler.commit("s1", [end], None)).missed == {}
    for queue in both:
        assert [event.body for event in await store.messages.read(queue, 0, 9)][2:] == [b"{}"]


async def test_a_workflow_is_registered_with_the_webhooks_of_its_tasks(world: World, store: Store) -> None:
    record = WorkflowRecord(name="order", version="1", schema=b"{}", policy=b"{}", events_to=f"{QUEUE}:a")
    await store.host.register_workflows([record])
    (found,) = await store.client.workflow("order")
    assert found.events_to == f"{QUEUE}:a"
    await store.host.register_workflows([replace(record, events_to=None)])
    (found,) = await store.client.workflow("order")
    assert found.events_to is None


async def test_a_child_that_its_parent_inserted_is_received_when_it_is_claimed(world: World, store: Store) -> None:
    parent = await claimed(world, store)
    child = world.task("p/c/1", parent=parent.uid, parent_run=1, parent_step="c/1", events_to=f"{QUEUE}:abj")
    await store.scheduler.commit("s1", [Change(task=parent.uid, children=[child])], None)
    assert await told(store, QUEUE) == []
    (found,) = await store.scheduler.claim("s1", SERVED, 9)
    assert found.task.events == 2
    assert await told(store, QUEUE) == [(child.id, 1, "request.received"), (child.id, 2, "task.started")]
