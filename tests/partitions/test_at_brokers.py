"""An application over two stores at a broker: each partition has queues of its own, programs outside see one."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from stepward import Accepted, Agent, App, Message, Queues, workflow
from stepward.cli.input.operator_store import operator_client
from stepward.client import session_of
from stepward.errors import DeclarationError, SettingsError
from stepward.settings import Settings
from stepward.store.contract import Transaction
from stepward.store.partitions.placement import initial_shards, shard_of
from stepward.store.partitions.single_or_partitioned import identify_any
from tests.programs import client_of_amqp10, program
from tests.tiers import sampled
from tests.transport.brokers import SERVERS, app_queues, clear, new_app
from tests.until import until

pytestmark = pytest.mark.servers

tools = Agent("tools")


@tools.operation()
async def double(number: int) -> int:
    return 2 * number


@workflow
async def doubled(number: int) -> int:
    return await double(number)


async def accept(message: Message, transaction: Transaction) -> Accepted:
    return Accepted(doubled, message.read(int))


class Shop:
    """An application of a name of its own at a broker."""

    def __init__(self, address: str, folder: Path) -> None:
        self.name = new_app()
        self.address = address
        self.folder = folder
        self.stores = [f"sqlite:///{folder / name}.db" for name in ("a", "b")]
        self.replies = f"replies.{self.name}.web"

    def app(self, stores: Sequence[str] | str | None = None, name: str = "") -> App:
        """The application; every call makes another."""
        app = App(
            name or self.name,
            workflows=[doubled],
            agents=[tools],
            store=stores or self.stores,
            transport=self.address,
            poll=0.05,
        )
        app.submission("numbers", accept=accept)
        return app

    def front_end(self, store_id: str | None = None) -> Queues:
        """A program that knows the broker alone, and perhaps the store for which its messages are."""
        return Queues(self.address, app=self.name, store_id=store_id)

    def take_away(self) -> None:
        """Let the second store be out of reach."""
        (self.folder / "b.db").rename(self.folder / "away.db")
        (self.folder / "b.db").mkdir()

    def bring_back(self) -> None:
        """Let it be reached again."""
        (self.folder / "b.db").rmdir()
        (self.folder / "away.db").rename(self.folder / "b.db")

    async def tasks(self, partition: int) -> dict[str, object]:
        """The tasks of one store, looked at alone, and their results."""
        async with operator_client(Settings(store=self.stores[partition - 1])) as client:
            return {task.id: await client.task(task.id).result() for task in await client.tasks(limit=1000)}


@pytest.fixture(params=sampled(("nats", "rabbitmq", "amqp10"), "nats"))
async def shop(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Shop]:
    if request.param != "nats":
        program("rabbitmq-server", "rabbitmq-server")
    if request.param == "amqp10":
        client_of_amqp10()
    address = await asyncio.to_thread(getattr(SERVERS, request.param))
    shop = Shop(address, tmp_path)
    yield shop
    for name in (shop.name, f"{shop.name}+p1", f"{shop.name}+p2"):
        await clear(address, name)


def ids_of(partition: int, count: int, name: str = "order") -> list[str]:
    """So many ids that are placed in that partition of two, counted from 1."""
    shards = initial_shards(2)[partition - 1]
    return [id for number in range(40 * count) if shard_of(id := f"{name}-{number}") in shards][:count]


async def completed(queues: Queues, queue: str, ids: Sequence[str]) -> dict[str, list[int]]:
    """By task, the sequences of the events that are read until each of these has ended."""
    seen: defaultdict[str, list[int]] = defaultdict(list)
    left = set(ids)
    async with asyncio.timeout(30):
        async for event in queues.events(queue):
            seen[event.subject].append(event.sequence)
            if event.type == "stepward.task.completed":
                left.discard(event.subject)
            if not left:
                return seen
    raise AssertionError("the queue ended")


async def test_messages_of_other_programs_become_tasks_where_their_ids_are_placed(shop: Shop) -> None:
    here, there = ids_of(1, 3), ids_of(2, 3)
    async with shop.app().running(), shop.front_end(identify_any(shop.stores).id) as queues:
        for number, id in enumerate([*here, *there]):
            await queues.post("numbers", number, id=id, reply_to=shop.replies)
            await queues.post("numbers", number, id=id, reply_to=shop.replies)
        seen = await completed(queues, shop.replies, [*here, *there])
        assert all(sequences == sorted(set(sequences)) for sequences in seen.values())
    assert await shop.tasks(1) == dict(zip(here, (0, 2, 4), strict=True))
    assert await shop.tasks(2) == dict(zip(there, (6, 8, 10), strict=True))


async def test_a_message_whose_shard_is_seen_elsewhere_once_it_was_taken_is_passed_on(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The part of the other partition is at the broker, and not in its store."""
    monkeypatch.setattr("stepward.transport.queues.partition_queues.PartitionQueues._is_here", _always)
    (there,) = ids_of(2, 1)
    async with shop.app().running(), Queues(shop.address, app=shop.name) as queues:
        await queues.post("p1.numbers", 7, id=there)
        await until(lambda: has_ended(shop), bool)
    assert await shop.tasks(2) == {there: 14}


async def _always(*_: object) -> bool:
    return True


async def has_ended(shop: Shop) -> bool:
    """Whether the one task has ended."""
    async with shop.app().client() as client:
        return (await client.count(where="state = 'processed'")).number == 1


async def test_clients_post_and_read_events_as_with_one_store(shop: Shop) -> None:
    app = shop.app()
    async with app.running(), app.client() as client, shop.app().client() as apart:
        ids = [*ids_of(1, 2), *ids_of(2, 2)]
        for number, id in enumerate(ids[::2]):
            await session_of(client).post("numbers", number, id)
        for number, id in enumerate(ids[1::2]):
            await session_of(apart).post("numbers", number, id)
        asked = [await apart.submit(doubled, 4, id=f"asked-{number}", reply_to=shop.replies) for number in range(4)]
        assert [await handle.result(timeout=30) for handle in asked] == [8] * 4
        left = {handle.id for handle in asked}
        async with asyncio.timeout(30):
            async for event in client.events(shop.replies):
                left -= {event.subject} if event.type == "stepward.task.completed" else set()
                if not left:
                    break
        await until(lambda: client.count(state="processed"), lambda found: found.number == 8)


async def test_a_message_in_the_part_of_another_partition_reaches_its_own(shop: Shop) -> None:
    (here,), (there,) = ids_of(1, 1), ids_of(2, 1)
    async with shop.app().running(), shop.front_end() as queues:
        await queues.post("p2.numbers", 1, id=here, reply_to=shop.replies)
        await queues.post("p1.numbers", 2, id=there, reply_to=shop.replies)
        await completed(queues, shop.replies, [here, there])
    assert (await shop.tasks(1), await shop.tasks(2)) == ({here: 2}, {there: 4})


async def test_a_store_that_is_down_keeps_its_share_of_the_messages_waiting(shop: Shop) -> None:
    here, there = ids_of(1, 3), ids_of(2, 3)
    async with shop.app().client():
        shop.take_away()
    async with shop.app().running(), shop.front_end() as queues:
        await queues.post("p1.numbers", 0, id=there[0], reply_to=shop.replies)
        for number, id in enumerate([*there, *here]):
            await queues.post("numbers", number, id=id, reply_to=shop.replies)
        await completed(queues, shop.replies, here)
        shop.bring_back()
        await completed(queues, shop.replies, there)
    assert set(await shop.tasks(2)) == set(there)


async def test_a_message_that_waits_in_a_part_expires_when_it_would_have_expired(shop: Shop) -> None:
    (there,) = ids_of(2, 1)
    body = b'{"specversion":"1.0","id":"%b","source":"/web","type":"order","data":1}' % there.encode()
    expires_at = time.time() + 7 * 86_400.0
    async with shop.app().client():
        shop.take_away()
    queues = app_queues(shop.address, shop.name, now=time.time)
    async with shop.app().running(), asyncio.timeout(20):
        await queues.put(f"submissions.{shop.name}.numbers", [(body, expires_at)])
        (waiting,) = await queues.take(f"submissions.{shop.name}.p2.numbers", 1, 30.0)
    assert (waiting.body, waiting.expires_at) == (body, expires_at)
    await queues.close()


async def test_a_message_that_is_none_is_a_dead_letter_that_can_be_put_back(shop: Shop) -> None:
    app = shop.app()
    (id,) = ids_of(2, 1)
    async with app.running(), app.client() as client, shop.front_end() as queues:
        await queues.post("numbers", "no number", id=id)
        (letter,) = await until(client.dead_letters)
        assert letter.queue == f"submissions.{shop.name}.p2.numbers"
        await client.put_back(letter.number)
        await until(client.dead_letters, lambda found: [each.number for each in found] not in ([], [letter.number]))
    assert not await shop.tasks(2)


async def test_the_name_at_the_broker_is_the_applications(shop: Shop, tmp_path: Path) -> None:
    async with shop.app().running():
        pass
    with pytest.raises(SettingsError, match=f"expected the application '{shop.name}' of the store"):
        async with shop.app(f"sqlite:///{tmp_path / 'c.db'}").running():
            pass
    others = [f"sqlite:///{tmp_path / name}.db" for name in ("d", "e")]
    with pytest.raises(SettingsError, match=f"expected the application '{shop.name}.p[12]' of the store"):
        async with shop.app(others).running():
            pass


async def test_names_of_parts_are_refused_for_submission_queues(shop: Shop) -> None:
    app = shop.app()
    with pytest.raises(DeclarationError, match=r"submission p2\.numbers: expected a name that does not begin"):
        app.submission("p2.numbers", accept=accept)
    shop.app(shop.stores[0]).submission("p2.numbers", accept=accept)
