"""What the leader reads before anything fails, and the alerts that match it."""

from __future__ import annotations

from stepward.model.records import Alert
from stepward.store.contract import Store
from stepward.store.contract.values.early_warnings import KeptWarnings, LateTask, QueueHead, WarningFigures
from tests.store.conformance.world import World, scheduler

KINDS = ("task_late", "queue_old")


async def signs(store: Store, created_before: float = 0.0) -> WarningFigures:
    return await store.supervisor.early_warnings(0.8, created_before)


def warning(kind: str, details: bytes) -> Alert:
    return Alert(kind=kind, message="look", details=details)


async def test_a_task_is_late_between_a_share_of_its_time_and_its_deadline(world: World, store: Store) -> None:
    now = store.now()
    await store.client.submit([world.task("late", deadline=now + 100), world.task("short", deadline=now + 59)])
    await store.client.submit([world.task("none"), world.task("long", deadline=now + 1000)])
    world.clock.advance(79)
    assert (await signs(store)).late_tasks == []
    world.clock.advance(2)
    assert (await signs(store)).late_tasks == [LateTask("order", "1", "late")]


async def test_the_first_untaken_message_of_each_queue_is_read(world: World, store: Store) -> None:
    assert ((await signs(store)).heads, (await signs(store)).newest_token) == ([], 0)
    for queue in ("agents.mail", "agents.bank", "agents.mail", "replies.shop.web"):
        await store.messages.put(queue, [(b"{}", None)])
    await store.messages.take("agents.mail", 1, 30.0)
    found = await signs(store)
    bank, mail = found.heads
    assert (bank.queue, mail) == ("agents.bank", QueueHead("agents.mail", bank.token + 1))
    assert found.newest_token == mail.token + 1


async def test_the_task_that_is_claimed_next_is_read_if_it_was_created_before(world: World, store: Store) -> None:
    await store.client.submit([world.task("first")])
    world.clock.advance(60)
    await store.client.submit([world.task("second"), world.task("refund", workflow="refund")])
    found = await signs(store, store.now() - 30)
    assert [(task.workflow, task.id) for task in found.waiting] == [("order", "first")]
    await store.scheduler.claim("s1", [("order", "1"), ("refund", "1")], 9)
    assert (await signs(store, store.now())).waiting == []


async def test_a_lease_is_late_after_a_share_of_it_unless_it_is_short(world: World, store: Store) -> None:
    await scheduler(store, "s2", lease=10.0)
    await scheduler(store, "s3", lease=4.0)
    world.clock.advance(8.5)
    late = [instance.id for instance in await store.supervisor.late_leases(0.8)]
    assert "s2" in late
    assert "s3" not in late
    await store.host.renew(["s2"], 10.0, {})
    assert "s2" not in [instance.id for instance in await store.supervisor.late_leases(0.8)]


async def test_warnings_are_raised_once_and_resolved_when_they_are_gone(world: World, store: Store) -> None:
    term = await store.supervisor.lead("p1", 30.0)
    assert term is not None
    both = [warning("task_late", b'{"workflow":"order"}'), warning("queue_old", b'{"queue":"agents.mail"}')]
    other = warning("mixed_code", b"[]")
    await store.host.warn(other)
    assert await store.supervisor.keep_warnings(term, KINDS, both, []) == KeptWarnings(2, 0)
    assert await store.supervisor.keep_warnings(term, KINDS, both, []) == KeptWarnings(0, 0)
    assert await store.supervisor.keep_warnings(term, KINDS, [], both) == KeptWarnings(0, 0)
    assert await store.supervisor.keep_warnings(term, KINDS, [], both[1:]) == KeptWarnings(0, 1)
    late, old = [alert for alert in await store.operators.alerts(9, open_only=False) if alert.kind in KINDS][::-1]
    assert (late.resolved_at, late.acknowledged_by, old.resolved_at) == (store.now(), "supervisor", None)
    assert "mixed_code" in [alert.kind for alert in await store.operators.alerts(9, open_only=True)]
    assert await store.supervisor.keep_warnings(term + 1, KINDS, [], []) == KeptWarnings(0, 0)


async def test_a_warning_that_an_operator_has_seen_is_not_raised_again_while_it_lasts(
    world: World, store: Store
) -> None:
    term = await store.supervisor.lead("p1", 30.0)
    assert term is not None
    late = [warning("task_late", b'{"workflow":"order"}')]
    await store.supervisor.keep_warnings(term, KINDS, late, [])
    (alert,) = await store.operators.alerts(9, open_only=True)
    await store.operators.acknowledge(alert.number, "ada")
    assert await store.supervisor.keep_warnings(term, KINDS, [], late) == KeptWarnings(0, 0)
    assert await store.supervisor.keep_warnings(term, KINDS, [], []) == KeptWarnings(0, 0)
    assert await store.supervisor.keep_warnings(term, KINDS, late, []) == KeptWarnings(1, 0)
