"""Rows 16, 23 and 29: what is malformed, foreign, oversized, expired, doubled or forged changes nothing."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from stepward import App, Client
from stepward.cli.main import cli
from stepward.client import session_of
from stepward.client.task_status import StepRecord, TaskStatus
from stepward.events import Event
from stepward.model.messages.requests import request_queue
from stepward.model.records import Role, Task
from tests.transport.brokers import new_app
from tests.transport.messages import keep_identity
from tests.transport.wire import traffic
from tests.transport.wire.described import Tapped
from tests.transport.wire.doors import Door
from tests.transport.wire.hostile import MALFORMED, ODD_DATA, UNREADABLE_REPLIES, answered, asked, with_data
from tests.transport.wire.taps import Tap

pytestmark = pytest.mark.servers

BOUND = 120.0
TILL = request_queue("till")


@dataclass(frozen=True)
class World:
    """An application at work, and a stranger at its broker."""

    app: App
    client: Client
    door: Door
    tap: Tap
    events: list[Event]

    async def replies(self) -> str:
        """The queue of the one Scheduler."""
        (scheduler,) = [each for each in await self.client.instances() if each.role is Role.SCHEDULER]
        return f"replies.{scheduler.id}"

    async def put(self, queue: str, *bodies: bytes) -> None:
        await self.door.put(self.app.name, queue, *bodies)

    async def emptied(self, *queues: str) -> None:
        """Wait until nothing is left in these."""

        async def is_empty() -> bool:
            return not sum([await self.door.left(self.app.name, queue) for queue in queues])

        await until(is_empty)

    async def works(self) -> None:
        """Show that tasks go on."""
        tasks = await self.client.submit_many(traffic.fulfil, [(f"o{number}",) for number in range(10)])
        assert len(await asyncio.gather(*(task.result(timeout=BOUND) for task in tasks))) == 10

    def told(self, name: str) -> list[dict[str, Any]]:
        return [event.fields for event in self.events if event.name == name]


async def until(look: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(BOUND):
        while not await look():  # noqa: ASYNC110  no broker tells that a queue is empty
            await asyncio.sleep(0.02)


@pytest.fixture
async def world(door: Door, tmp_path: Path) -> AsyncIterator[World]:
    app = traffic.application(new_app(), door.address, tmp_path)
    await keep_identity(app)
    events: list[Event] = []
    app.observers.add(events.append)
    async with door.tapped(app.name) as tap, app.running(drain="100ms"), app.client() as client:
        world = World(app, client, door, tap, events)
        # From then on there is each queue.
        await world.works()
        yield world


async def test_malformed_bodies_are_dead_letters_with_their_reason(world: World) -> None:
    replies = await world.replies()
    for body in MALFORMED.values():
        await world.put(replies, body)
        await world.put(TILL, body)
    await world.works()
    await world.emptied(replies, TILL)
    letters = await world.client.dead_letters(1_000)
    assert Counter(letter.queue for letter in letters) == {replies: len(MALFORMED) + 2, TILL: len(MALFORMED) + 2}
    assert all("expected" in letter.reason and "\n" not in letter.reason for letter in letters)
    assert len(world.told("transport.dead_letter")) == len(letters)


async def test_unreadable_replies_to_no_waiting_step_are_no_dead_letters(world: World) -> None:
    replies = await world.replies()
    await world.put(replies, *UNREADABLE_REPLIES.values())
    await world.works()
    await world.emptied(replies)
    assert await world.client.dead_letters(1_000) == []


async def test_an_operator_reads_what_is_malformed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    await world.put(TILL, b'[{"type":"com.example.bomb"}]')
    await until(lambda: _some(world.client))
    monkeypatch.setenv("STEPWARD_STORE", str(world.app.settings.store))
    shown = await asyncio.to_thread(CliRunner().invoke, cli, ["dead-letters", "--json"])
    assert shown.exit_code == 0
    (letter,) = json.loads(shown.stdout)
    assert (letter["queue"], "com.example.bomb" in json.dumps(letter)) == (TILL, True)


async def _some(client: Client) -> bool:
    return bool(await client.dead_letters(1))


async def test_invalid_data_are_refused_to_their_sender(world: World) -> None:
    """A request that no Scheduler sent fails, or is done, and its reply reaches no task."""
    for name, data in ODD_DATA.items():
        await world.put(TILL, with_data(asked(data="DATA", correlationid=name, replyto="replies.nobody"), data))
    await world.works()

    def outcomes() -> list[str]:
        answers = [tapped for tapped in world.tap if tapped.address.endswith("replies.nobody")]
        return [event["outcome"] for tapped in answers for event in json.loads(tapped.body)]

    await world.tap.until(lambda _: len(outcomes()) == len(ODD_DATA))
    assert set(outcomes()) == {"failed"}


async def test_an_unreadable_answer_ends_only_its_own_task(world: World) -> None:
    """A login that may write into a Scheduler's queue and knows all of an attempt can answer it, and no more."""
    for name in ODD_DATA:
        await world.client.submit(traffic.endure, name, id=name.replace(" ", "-"))
    for name, data in ODD_DATA.items():
        request = await requested(world.tap, "till.hang_for_anything", name)
        await world.put(request["replyto"], with_data(answer(request, data="DATA"), data))
    ended = [await settled(world.client, name.replace(" ", "-")) for name in ODD_DATA]
    assert {status.process_state for status in ended} <= {"Processed", "Error"}
    assert all("\n" not in str(status.error) for status in ended)
    await world.works()
    assert world.told("scheduler.broke") == []


async def test_a_forged_answer_changes_nothing(world: World) -> None:
    task = await world.client.submit(traffic.endure, "o", id="forged")
    request = await requested(world.tap, "till.hang_for_anything", "o")
    before = await state(world.client, "forged")
    forged = [
        answer(request, proof=None),
        answer(request, proof=""),
        answer(request, proof="0" * 32),
        answer(request, store="5d0c9be1a7f24e6083b2"),
        answer(request, source=f"{request['source']}/agents.mail"),
        answer(request, source=request["source"]),
        answer(request, source="/stepward/other/agents.till"),
        answer(request, attempt=request["attempt"] + 1),
        answer(request, attempt=0),
        answer(request, run=request["run"] + 1),
        answer(request, step="till.hang_for_anything/2"),
        answer(request, step="' or 1=1 --"),
        answer(request, correlationid="0192f3a1-5c1d-7a6e-9d0b-000000000000"),
        answer(request, correlationid="forged"),
        answered(),
    ]
    await world.put(request["replyto"], *forged)
    await world.works()
    await world.emptied(request["replyto"])
    assert await state(world.client, "forged") == before
    await task.cancel()


async def test_repeated_messages_change_nothing(world: World) -> None:
    kinds = ("fulfil", "regret", "worry", "persist")
    traffic.stage.heard.set()
    for kind in kinds:
        await world.client.submit(kind, "o", id=kind)

    async def have_ended() -> bool:
        return all([await _has_ended(world.client, kind) for kind in kinds])

    await until(have_ended)
    before = {kind: await state(world.client, kind) for kind in kinds}
    said = [tapped for tapped in world.tap if not tapped.address.endswith(".told")]
    queues = {tapped.address: queue_of(tapped.address, world.app.name) for tapped in said}
    for tapped in said:
        await world.put(queues[tapped.address], tapped.body)
    await world.works()
    await world.emptied(*set(queues.values()))
    assert {kind: await state(world.client, kind) for kind in kinds} == before


async def test_late_messages_are_dropped_and_counted(world: World) -> None:
    await world.put(TILL, asked(expirytime="2001-01-01T00:00:00Z", replyto="replies.nobody"))
    await world.works()
    await world.emptied(TILL)
    assert [fields["requests"] for fields in world.told("transport.expired")] == [1]
    assert not any(tapped.address.endswith("replies.nobody") for tapped in world.tap)


async def test_a_foreign_broadcast_is_ignored(world: World) -> None:
    strange = [b"", b"\xff", b"[]", b'{"type":"stepward.revocation"}', b'{"type":"stepward.capacity","capacity":-1}']
    await world.put("told", *strange)
    await until(lambda: _told(world, "transport.not_understood", len(strange)))
    await world.works()


async def test_an_announcement_of_a_foreign_agent_makes_no_instance(world: World) -> None:
    word = {"specversion": "1.0", "type": "stepward.capacity", "id": "1", "source": "/stepward/shop/x", "capacity": 5}
    before = {each.id for each in await world.client.instances()}
    await world.put("told", json.dumps({**word, "subject": "agents.nobody"}).encode())
    await until(lambda: _told(world, "agent.not_ours", 1))
    assert {each.id for each in await world.client.instances()} == before


async def _told(world: World, name: str, count: int) -> bool:
    return len(world.told(name)) >= count


async def _has_ended(client: Client, id: str) -> bool:
    return (await client.task(id).status()).state.value in ("processed", "undone", "error")


async def requested(tap: Tap, operation: str, order: str) -> dict[str, Any]:
    """The first request of that operation for an order."""

    def wanted(tapped: Tapped) -> list[dict[str, Any]]:
        events = json.loads(tapped.body) if f'"operation":"{operation}"'.encode() in tapped.body else []
        return [event for event in events if event["operation"] == operation and event["data"] == [order]]

    return wanted(await tap.until(lambda tapped: bool(wanted(tapped))))[0]


async def settled(client: Client, id: str) -> TaskStatus:
    """How a task ended, or stopped."""

    async def has_ended() -> bool:
        return await _has_ended(client, id)

    await until(has_ended)
    return await client.task(id).status()


def answer(request: dict[str, Any], **attributes: object) -> bytes:
    """A reply to that request by a program that knows all of it."""
    own = {name: request[name] for name in ("correlationid", "run", "step", "attempt", "proof")}
    return answered(**{**own, "source": f"{request['source']}/agents.till", "data": "forged", **attributes})


async def state(client: Client, id: str) -> tuple[Task, list[StepRecord]]:
    """All that is recorded of a task."""
    return await session_of(client).record(id), await client.task(id).steps()


def queue_of(address: str, app: str) -> str:
    return address.removeprefix(f"stepward.{app}.").removeprefix("queue.")
