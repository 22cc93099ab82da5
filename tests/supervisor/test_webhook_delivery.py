"""Tests of the delivery of status events to webhooks: order within a task, refusals, dead letters, disabling."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import msgspec
import pytest

from stepward.clock import Environment
from stepward.errors import AlertRefused
from stepward.events import Observers
from stepward.model.messages.webhook_retries import DISABLE_SECONDS, GIVE_UP_SECONDS, WaitingEvent
from stepward.settings import Settings
from stepward.supervisor import Supervisor
from stepward.supervisor.webhooks.due_events import MOST_PAGES, PAGE
from stepward.supervisor.webhooks.outgoing_events import LARGEST_DATA, outgoing
from stepward.supervisor.webhooks.webhook_delivery import REFUSALS_IN_A_ROW, TASKS_AT_ONCE
from stepward.telemetry.process_metrics import ProcessMetrics
from tests.supervisor.conftest import Bench, beside
from tests.until import until

QUEUE = "webhooks.shop.crm"


@dataclass
class FakeReceiver:
    name: str = "crm"
    queue: str = QUEUE
    description: str = "https://crm.example.com/…"
    asked: list[str] = field(default_factory=list)
    took: list[str] = field(default_factory=list)
    answer: Callable[[str], int] = lambda id: 204

    async def deliver(self, id: str, body: bytes) -> None:
        self.asked.append(id)
        status = self.answer(id)
        if status != 204:
            raise AlertRefused(f"expected an answer of 200 to 299, found {status}", status=status)
        self.took.append(id)


@dataclass
class SlowReceiver(FakeReceiver):
    answer: Callable[[str], int] = lambda id: 0
    answers: asyncio.Event = field(default_factory=asyncio.Event)

    async def deliver(self, id: str, body: bytes) -> None:
        self.asked.append(id)
        if self.answer(id) != 204:
            await self.answers.wait()
        self.took.append(id)


def event(id: str, data: bytes = b"{}") -> bytes:
    return b'{"specversion":"1.0","id":%s,"type":"stepward.task.started","data":%s}' % (msgspec.json.encode(id), data)


def queued(bench: Bench, *ids: str) -> None:
    """Put events with these ids into the queue, in order."""
    events = bench.store.queues.setdefault(QUEUE, [])
    first = events[-1].token + 1 if events else 1
    events += [WaitingEvent(token=first + at, body=event(id)) for at, id in enumerate(ids)]


@pytest.fixture
def receiver() -> FakeReceiver:
    return FakeReceiver()


async def look(bench: Bench, receiver: FakeReceiver, seconds: float = 0.0) -> None:
    """One pass of a new Supervisor after some time."""
    bench.store.time += seconds
    await bench.supervisor(webhooks=[receiver]).once()


async def test_the_events_of_each_task_are_posted_in_order_and_taken_once(bench: Bench, receiver: FakeReceiver) -> None:
    queued(bench, "a/1", "b/1", "a/2", "b/2", "a/3")
    await look(bench, receiver)
    assert [id for id in receiver.took if id[0] == "a"] == ["a/1", "a/2", "a/3"]
    assert [id for id in receiver.took if id[0] == "b"] == ["b/1", "b/2"]
    assert bench.store.queues[QUEUE] == []
    assert (bench.store.known["crm"].taken, bench.store.known["crm"].state) == (5, "enabled")
    await look(bench, receiver)
    assert len(receiver.asked) == 5


async def test_a_process_without_webhooks_forgets_those_of_before_with_how_they_fared(
    bench: Bench, receiver: FakeReceiver
) -> None:
    receiver.answer = lambda id: 503
    queued(bench, "a/1")
    await look(bench, receiver)
    assert bench.store.known["crm"].failing_since is not None
    await bench.supervisor().once()
    assert bench.store.known == {}
    await look(bench, receiver, DISABLE_SECONDS + 1.0)
    assert bench.store.known["crm"].state == "failing"


async def test_a_process_that_never_had_webhooks_records_nothing(bench: Bench) -> None:
    await bench.supervisor().once()
    assert bench.store.recorded == [] and bench.store.known == {}


async def test_a_refused_event_holds_up_its_task_and_no_other(bench: Bench, receiver: FakeReceiver) -> None:
    receiver.answer = lambda id: 422 if id == "a/1" else 204
    queued(bench, "a/1", "b/1", "a/2")
    await look(bench, receiver)
    assert receiver.took == ["b/1"] and "a/2" not in receiver.asked
    receiver.answer = lambda id: 204
    await look(bench, receiver)
    assert receiver.took == ["b/1"]  # It is not due yet.
    await look(bench, receiver, 2.0)
    assert receiver.took == ["b/1", "a/1", "a/2"]


async def test_a_receiver_that_is_down_is_asked_little_and_less_and_less_often(
    bench: Bench, receiver: FakeReceiver
) -> None:
    receiver.answer = lambda id: 503
    queued(bench, *(f"{task}/1" for task in range(100)))
    await look(bench, receiver)
    assert REFUSALS_IN_A_ROW <= len(receiver.asked) < REFUSALS_IN_A_ROW + TASKS_AT_ONCE
    before = len(receiver.asked)
    await look(bench, receiver)
    assert len(receiver.asked) == before
    pauses = []
    for _ in range(20):
        webhook = bench.store.known["crm"]
        pauses.append(webhook.next_try - bench.store.time)
        await look(bench, receiver, pauses[-1] + 0.001)
    assert pauses[0] <= 1.0 and 1_800.0 <= pauses[-1] <= 3_600.0
    assert bench.store.known["crm"].tries == 21


async def test_a_webhook_that_takes_nothing_for_two_days_is_disabled_before_any_event_is_given_up(
    bench: Bench, receiver: FakeReceiver
) -> None:
    receiver.answer = lambda id: 503
    queued(bench, "a/1")
    await look(bench, receiver)
    await look(bench, receiver, DISABLE_SECONDS)
    assert bench.store.known["crm"].state == "failing"
    await look(bench, receiver, 3_601.0)
    webhook = bench.store.known["crm"]
    assert (webhook.state, webhook.disabled_by, bench.store.letters) == ("disabled", "supervisor", [])
    before = len(receiver.asked)
    await look(bench, receiver, 10 * 86_400.0)
    assert len(receiver.asked) == before and len(bench.store.queues[QUEUE]) == 1
    assert "webhook.disabled" in bench.names()


async def test_a_receiver_that_is_gone_is_disabled_at_once(bench: Bench, receiver: FakeReceiver) -> None:
    receiver.answer = lambda id: 410
    queued(bench, "a/1")
    await look(bench, receiver)
    assert bench.store.known["crm"].state == "disabled"


async def test_an_event_that_alone_is_refused_becomes_a_dead_letter_and_disables_nothing(
    bench: Bench, receiver: FakeReceiver
) -> None:
    receiver.answer = lambda id: 400 if id == "a/1" else 204
    queued(bench, "a/1", "a/2")
    await look(bench, receiver)
    await look(bench, receiver, GIVE_UP_SECONDS)
    assert bench.store.letters == []
    await look(bench, receiver, 3_601.0)
    ((token, reason),) = bench.store.letters
    assert (token, reason) == (1, "expected an answer of 200 to 299, found 400")
    await look(bench, receiver)
    assert receiver.took == ["a/2"] and bench.store.known["crm"].state == "enabled"


async def test_what_is_no_event_becomes_a_dead_letter(bench: Bench, receiver: FakeReceiver) -> None:
    bench.store.queues[QUEUE] = [WaitingEvent(token=1, body=b"[]"), WaitingEvent(token=2, body=event("a/1"))]
    await look(bench, receiver)
    assert receiver.took == ["a/1"]
    assert [token for token, _ in bench.store.letters] == [1]


async def test_events_behind_many_that_wait_are_found(bench: Bench, receiver: FakeReceiver) -> None:
    queued(bench, *(f"a/{n}" for n in range(1, PAGE + 2)))
    first = msgspec.structs.replace(bench.store.queues[QUEUE][0], tries=1, refused_at=999.0, next_try=5_000.0)
    bench.store.queues[QUEUE][0] = first
    queued(bench, "b/1")
    await look(bench, receiver)
    assert receiver.took == ["b/1"]


async def test_events_behind_more_refused_ones_than_one_search_passes_are_found_by_the_next(
    bench: Bench, receiver: FakeReceiver
) -> None:
    count = PAGE * MOST_PAGES + 1
    queued(bench, *(f"{n}/1" for n in range(count)))
    waiting = [msgspec.structs.replace(each, tries=1, next_try=5_000.0) for each in bench.store.queues[QUEUE]]
    bench.store.queues[QUEUE] = waiting
    queued(bench, "0/2", "new/1")
    supervisor = bench.supervisor(webhooks=[receiver])
    await supervisor.once()
    await supervisor.once()
    assert receiver.took == ["new/1"]


async def test_later_events_of_a_task_that_was_not_asked_wait_for_the_next_sweep(
    bench: Bench, receiver: FakeReceiver
) -> None:
    receiver.answer = lambda id: 422 if id[0] == "x" else 204
    queued(bench, *(f"x{n}/1" for n in range(PAGE)), "x199/2", "new/1")
    supervisor = bench.supervisor(webhooks=[receiver])
    for _ in range(3):
        await supervisor.once()
    assert receiver.took == ["new/1"] and "x199/2" not in receiver.asked


async def test_a_refused_event_is_offered_again_while_many_new_ones_are_posted(
    bench: Bench, receiver: FakeReceiver
) -> None:
    def answer(id: str) -> int:
        bench.store.time += 0.01
        return 422 if id == "x/1" and receiver.asked.count(id) == 1 else 204

    receiver.answer = answer
    queued(bench, "x/1", *(f"{n}/1" for n in range(6 * PAGE)), "x/2")
    await bench.supervisor(webhooks=[receiver]).once()
    assert receiver.took.index("x/1") < 4 * PAGE
    assert receiver.took[-1] == "x/2"


async def test_an_event_that_came_while_the_queue_was_swept_waits_for_the_next_sweep(
    bench: Bench, receiver: FakeReceiver
) -> None:
    def answer(id: str) -> int:
        if id == "a/1":  # The transaction with b/1 commits behind the page that is read, then the next of its task.
            early = WaitingEvent(token=1, body=event("b/1"))
            bench.store.queues[QUEUE] = [early, *bench.store.queues[QUEUE]]
            queued(bench, "b/2")
        return 204

    receiver.answer = answer
    queued(bench, "unseen/1", *(f"a/{n}" for n in range(1, PAGE + 1)))
    del bench.store.queues[QUEUE][0]
    supervisor = bench.supervisor(webhooks=[receiver])
    await supervisor.once()
    await supervisor.once()
    assert [id for id in receiver.took if id[0] == "b"] == ["b/1", "b/2"]


async def test_a_receiver_that_breaks_is_refusing(bench: Bench, receiver: FakeReceiver) -> None:
    def broken(id: str) -> int:
        raise ZeroDivisionError(id)

    receiver.answer = broken
    queued(bench, "a/1")
    await look(bench, receiver)
    assert bench.store.known["crm"].error == "a/1"


async def test_an_event_whose_taking_was_not_recorded_comes_again_under_its_id(
    bench: Bench, receiver: FakeReceiver
) -> None:
    def die(name: str) -> None:
        if name == "webhooks.record.before":
            raise InterruptedError

    queued(bench, "a/1", "a/2")
    dying = Supervisor(
        bench.store,
        instance="s1",
        settings=Settings(),
        observers=Observers(),
        environment=Environment(failpoint=die),
        sinks=(),
        webhooks=[receiver],
    )
    with pytest.raises(InterruptedError):
        await dying.once()
    await look(bench, receiver)
    assert receiver.took == ["a/1", "a/2", "a/1", "a/2"]


async def test_a_slow_receiver_holds_up_no_other(bench: Bench, receiver: FakeReceiver) -> None:
    slow = SlowReceiver("ledger", "webhooks.shop.ledger")
    bench.store.queues[slow.queue] = [WaitingEvent(token=99, body=event("s/1"))]
    supervisor = bench.supervisor(webhooks=[slow, receiver])

    async def posted(id: str) -> bool:
        await supervisor.turn()
        return receiver.took[-1:] == [id]

    for id in ("a/1", "b/1"):
        queued(bench, id)
        await until(partial(posted, id))
    assert (slow.asked, slow.took) == (["s/1"], [])
    slow.answers.set()
    await beside()
    assert slow.took == ["s/1"] and bench.store.queues[slow.queue] == []


async def test_a_supervisor_that_leads_no_more_records_what_was_taken_and_posts_no_more(bench: Bench) -> None:
    slow = SlowReceiver()
    queued(bench, "a/1", "a/2")
    supervisor = bench.supervisor(webhooks=[slow])

    async def passed() -> list[str]:
        await supervisor.turn()
        return slow.asked

    await until(passed)
    bench.store.term = None
    await supervisor.turn()
    slow.answers.set()
    await beside()
    assert slow.took == ["a/1"]
    assert [waiting.token for waiting in bench.store.queues[QUEUE]] == [2]


async def test_a_supervisor_that_stops_records_what_was_taken(bench: Bench) -> None:
    slow = SlowReceiver(answer=lambda id: 0 if id == "s/1" else 204)
    queued(bench, "s/1", "a/1")
    supervisor = bench.supervisor(webhooks=[slow])
    await supervisor.turn()

    async def took() -> list[str]:
        return slow.took

    assert await until(took) == ["a/1"]
    await supervisor.close()
    assert [waiting.token for waiting in bench.store.queues[QUEUE]] == [1]


async def test_a_webhook_that_another_leader_had_not_is_reported_again(bench: Bench, receiver: FakeReceiver) -> None:
    supervisor = bench.supervisor(webhooks=[receiver])
    await supervisor.once()
    bench.store.known.clear()
    queued(bench, "a/1")
    await supervisor.once()
    assert receiver.took == ["a/1"] and list(bench.store.known) == ["crm"]


async def test_what_was_taken_and_refused_is_counted(bench: Bench, receiver: FakeReceiver) -> None:
    receiver.answer = lambda id: 400 if id == "b/1" else 204
    queued(bench, "a/1", "b/1")
    metrics = ProcessMetrics()
    await look(bench, receiver)
    for event in bench.told:
        metrics(event)
    (family,) = [each for each in metrics.collect() if each.name == "stepward_webhook_events"]
    found = {tuple(sample.labels.values()): sample.value for sample in family.samples}
    assert found == {("crm", "taken"): 1.0, ("crm", "refused"): 1.0}


def test_what_leaves_holds_no_secret_nothing_encrypted_and_nothing_large() -> None:
    sent = msgspec.json.decode(outgoing(event("a/1", b'{"result":{"stepward.secret":"4111"}}')).body)
    assert sent["data"] == {"result": "**********"}
    large = event("a/1", msgspec.json.encode({"result": "x" * LARGEST_DATA}))
    assert msgspec.json.decode(outgoing(large).body)["data"] == {"omitted": "large"}
