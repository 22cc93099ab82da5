"""A store is added and its share moves there while the application runs: every task ends whole, once, in one store."""

from __future__ import annotations

import asyncio
import json
import random
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress

import pytest
from click.testing import CliRunner

from stepward import (
    Accepted,
    Agent,
    App,
    Client,
    Limit,
    Message,
    Singleton,
    Supervision,
    TaskNotFound,
    TaskState,
    Transaction,
    Unrecoverable,
    current_step,
    wait_for,
    workflow,
)
from stepward.cli.commands.store.keys import key_uses
from stepward.cli.commands.store.partitions import partitions
from stepward.client import session_of
from stepward.clock import Environment
from stepward.errors import Refused, SettingsError, StoreUnavailable
from stepward.model.states import TASK_ENDS
from stepward.store.contract import Store
from stepward.store.partitions.moving import departure, rows
from stepward.store.partitions.moving.added_store import add_store
from stepward.store.partitions.moving.arrival import Staging
from stepward.store.partitions.moving.move import move_share
from stepward.store.partitions.placement import initial_shards, read_shards, shard_of, shard_of_key
from stepward.store.store_at_address import open_store
from tests.partitions.places import looked_up, tables_of
from tests.until import until

SEED = 450_160_101
ORDERS = 90
UNPAID = 8
"""Orders under load that wait for their payment."""
FAILPOINTS = ("shard.leave.before", "shard.commit.before", "shard.leave.after", "shard.arrive.after")
MOVED = initial_shards(3)[2]


class Crash(BaseException):
    """What ends the mover in place of ``kill -9``: nothing catches it, and an open transaction is rolled back."""


class Bank:
    """A remote service: it carries out each call with a new key once, and takes it back once."""

    def __init__(self) -> None:
        self.charged: dict[str, set[str]] = defaultdict(set)
        self.keys: dict[tuple[str, str], set[str]] = defaultdict(set)
        self.at_work: set[str] = set()
        self.opens = asyncio.Event()
        """Until then the calls for orders that begin with ``slow`` last."""

    def charge(self, order: str, what: str) -> None:
        """One charge; a second call with the same key does nothing."""
        key = current_step().idempotency_key
        if key not in self.keys[order, what]:
            self.keys[order, what].add(key)
            self.charged[order].add(what)


def application(stores: Sequence[str] | str, bank: Bank) -> App:
    agent = Agent("bank", concurrency=8)

    @agent.operation(complete_by="30s")
    async def charge(order: str, what: str) -> str:
        bank.at_work.add(order)
        if order.startswith("slow"):
            await bank.opens.wait()
        bank.charge(order, what)
        return what

    @charge.undo
    async def refund(_: str | None, order: str, what: str) -> None:
        bank.charged[order].discard(what)

    @agent.operation(complete_by="5s")
    async def approve(order: str) -> None:
        if is_refused(order):
            raise Unrecoverable("refused")

    @workflow
    async def delivery(order: str) -> None:
        await asyncio.sleep(0.05)
        await charge(order, "delivery")

    @workflow(supervision=Supervision(then="undo"))
    async def fulfil(order: str) -> None:
        await charge(order, "goods")
        await asyncio.sleep(0.02)
        await delivery(order)
        assert await wait_for("paid") == order
        await approve(order)

    @workflow(limit=Limit(concurrency=2))
    async def narrow(order: str) -> None:
        await charge(order, "narrow")

    async def accept(message: Message, transaction: Transaction) -> Accepted:
        return Accepted(narrow, message.id)

    app = App(
        "moving", workflows=[delivery, fulfil, narrow], agents=[agent], store=stores, poll="50ms", transport="store"
    )
    app.submission("orders", accept=accept)
    return app


def is_refused(order: str) -> bool:
    """Whether the order ends undone."""
    return int(order.rpartition("-")[2]) % 5 == 0


@asynccontextmanager
async def opened(stores: Sequence[str], failpoint: str = "") -> AsyncIterator[tuple[list[Store], Environment]]:
    """The stores, each by itself; the process would end at the second pass of the failpoint."""
    passed = 0

    def passes(name: str) -> None:
        nonlocal passed
        passed += name == failpoint
        if passed == 2:
            raise Crash(name)

    environment = Environment(failpoint=passes)
    async with AsyncExitStack() as stack:
        found = [open_store(address, app="moving", environment=environment) for address in stores]
        for store in found:
            await store.open()
            stack.push_async_callback(store.close)
        yield found, environment


async def add(stores: Sequence[str]) -> None:
    async with opened(stores) as (found, environment):
        await add_store(found, environment, "ada")


async def move(stores: Sequence[str], failpoint: str = "") -> list[int]:
    """The shards that moved, before the move ended or was cut off."""
    shards: list[int] = []
    async with opened(stores, failpoint) as (found, environment):
        with suppress(Crash):
            async for moved in move_share(found, environment, "ada"):
                shards.append(moved.shard)  # noqa: PERF401  it may be cut off
    return shards


def homes(stores: Sequence[str]) -> dict[str, list[int]]:
    """By id, the places in the list of the stores in which a task is."""
    found: dict[str, list[int]] = defaultdict(list)
    for place, store in enumerate(stores):
        for (id,) in looked_up(store, "select id from stepward_task"):
            found[str(id)].append(place)
    return found


async def submit_some(client: Client, orders: Sequence[str]) -> None:
    for order in orders:
        if int(order.rpartition("-")[2]) % 3 == 0:
            await session_of(client).post("orders", None, order)
        else:
            await client.submit("fulfil", order, id=order, reply_to="replies.moving.web")
        await asyncio.sleep(0)


async def run_load(client: Client, orders: Sequence[str]) -> None:
    """Submits orders while the share moves, and pays each some time later."""
    for place, order in enumerate(orders):
        await submit_some(client, [order])
        if place >= UNPAID:
            await pay(client, [orders[place - UNPAID]])
        await asyncio.sleep(0.01)


async def pay(client: Client, orders: Sequence[str]) -> None:
    for order in orders:
        if int(order.rpartition("-")[2]) % 3:
            await client.task(order).signal("paid", order, id="once")


async def ended(client: Client, order: str) -> TaskState:
    """The state in which the order ended."""
    async with asyncio.timeout(60):
        while True:
            with suppress(TaskNotFound):
                state = (await client.task(order).status()).state
                if state in TASK_ENDS:
                    return state
            await asyncio.sleep(0.05)


async def test_a_share_moves_under_load_and_every_task_ends_whole_once(stores: list[str]) -> None:
    bank, chance = Bank(), random.Random(SEED)
    orders = [f"order-{number}" for number in range(1, ORDERS + 1)]
    before, during = orders[: ORDERS // 3], orders[ORDERS // 3 :]
    app = application(stores[:2], bank)
    async with app.running(), app.client() as client:
        await submit_some(client, before)
        keyed = [await client.submit("fulfil", f"key-{n}", per_key=Singleton(f"key-{n}")) for n in range(1, 9)]
        await client.create_schedule("nightly", "narrow", ("nightly-1",), every="1h")
        await pay(client, before[::2])
        for order in before[:6:2]:
            await ended(client, order)
        await add(stores)
    app = application(stores, bank)
    async with app.running(), app.client() as client:
        load = asyncio.create_task(run_load(client, during))
        moved: list[int] = []
        for failpoint in [*chance.sample(FAILPOINTS, len(FAILPOINTS)), ""]:
            moved += await move(stores, failpoint)
        await load
        again = [await client.submit("fulfil", order, id=order) for order in before if int(order[6:]) % 3]
        assert [handle.id for handle in again] == [order for order in before if int(order[6:]) % 3]
        await pay(client, orders)
        for number, handle in enumerate(keyed, 1):
            joined = await client.submit(
                "fulfil", f"key-{number}", per_key=Singleton(f"key-{number}", if_running="join")
            )
            assert joined.id == handle.id
            await client.task(handle.id).signal("paid", f"key-{number}")
        ends = {order: await ended(client, order) for order in orders}
        for handle in keyed:
            assert await ended(client, handle.id) in TASK_ENDS
        assert (await client.trigger_schedule("nightly")).id
        events: dict[str, list[int]] = defaultdict(list)
        watched = {order for order in orders if int(order[6:]) % 3}
        over: set[str] = set()
        async with asyncio.timeout(60):
            async for event in client.events("replies.moving.web"):
                events[event.subject].append(event.sequence)
                if event.type in ("stepward.task.completed", "stepward.task.undone"):
                    over.add(event.subject)
                if over == watched:
                    break
    for order, state in ends.items():
        narrow = int(order[6:]) % 3 == 0
        undone = is_refused(order) and not narrow
        assert state == (TaskState.UNDONE if undone else TaskState.PROCESSED), order
        assert bank.charged[order] == (set() if undone else {"narrow"} if narrow else {"goods", "delivery"}), order
    assert max(len(keys) for keys in bank.keys.values()) == 1
    for sequences in events.values():
        firsts = list(dict.fromkeys(sequences))
        assert firsts == list(range(1, len(firsts) + 1))
    _check_places(stores, moved)


def _check_places(stores: Sequence[str], moved: Sequence[int]) -> None:
    """Each id is in one store, that of its shard, or of its key; the share moved, and no other shard."""
    assert set(moved) <= MOVED
    for id, places in homes(stores).items():
        assert len(places) == 1, id
        if id.startswith("order-"):
            assert shard_of(id) in initial_shards(3)[places[0]], id
    for place, store in enumerate(stores):
        ((record,),) = looked_up(store, "select value ->> 'shards' from stepward_meta where key = 'partition'")
        assert read_shards(str(record)) == initial_shards(3)[place]
        for (key,) in looked_up(store, "select key from stepward_submission_key"):
            assert shard_of_key(str(key)) in initial_shards(3)[place]
        assert looked_up(store, "select key from stepward_meta where key like 'arriving/%'") == []
        for table, owner in rows.OF_TASK.items():
            strays = f"select count(*) from {table} where {owner} not in (select uid from stepward_task)"
            assert table == "stepward_alert" or looked_up(store, strays) == [(0,)], table


async def test_a_shard_on_its_way_is_waited_for_and_known_of_nowhere_else(
    stores: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store that the shard has left takes nothing of it, and no reader hears that a task does not exist."""
    bank = Bank()
    async with application(stores[:2], bank).client() as client:
        first, second = sorted(MOVED)[:2]
        new, moving = (
            next(id for n in range(9999) if shard_of(id := f"order-{n}") == shard) for shard in (first, second)
        )
        await client.submit("fulfil", moving, id=moving)
        await add(stores)
        async with application(stores, bank).running(), application(stores, bank).client() as whole:
            assert await move(stores, "shard.leave.after") == [first]
            reading = asyncio.create_task(whole.task(moving).status())
            submitting = asyncio.create_task(whole.submit("fulfil", moving, id=moving))
            await asyncio.sleep(0.2)
            assert not reading.done() and not submitting.done()
            await move(stores)
            assert (await reading).id == moving
            assert (await submitting).id == moving
            await whole.submit("fulfil", new, id=new)
            with pytest.raises(StoreUnavailable, match="every store of the application"):
                await client.task(moving).status()
            monkeypatch.setattr("stepward.store.partitions.partition_routing.ARRIVAL_SECONDS", 0.1)
            with pytest.raises(StoreUnavailable, match="moved to another partition"):
                await client.submit("fulfil", moving, id=moving)
    assert all(len(places) == 1 for places in homes(stores).values())


async def test_tasks_at_work_go_on_in_the_new_store_and_their_permits_go_to_those_that_stay(stores: list[str]) -> None:
    bank = Bank()
    first, second, *_ = (id for n in range(9999) if shard_of(id := f"slow-{n}") in MOVED & initial_shards(2)[0])
    third = next(id for n in range(9999) if shard_of(id := f"quick-{n}") in initial_shards(3)[0])
    async with application(stores[:2], bank).client():
        await add(stores)
    app = application(stores, bank)
    async with app.running(), app.client() as client:
        slow = [await client.submit("narrow", id, id=id) for id in (first, second)]
        await until(lambda: asyncio.sleep(0, bank.at_work), lambda at_work: at_work >= {first, second})
        stays = await client.submit("narrow", third, id=third)
        await until(stays.status, lambda status: status.waits_for == "limit")
        await move(stores)
        await stays.result(timeout=30)
        assert not bank.charged[first] and not bank.charged[second]
        owners = {owner for (owner,) in looked_up(stores[2], "select locked_by from stepward_task")}
        alive = {id for (id,) in looked_up(stores[2], "select id from stepward_instance where alive = 1")}
        # Before the check, which would else leave calls behind that never end.
        bank.opens.set()
        assert owners <= {None, *alive}
        for handle in slow:
            await handle.result(timeout=30)
    assert [len(bank.keys[id, "narrow"]) for id in (first, second, third)] == [1, 1, 1]


async def test_what_cannot_be_added_or_moved_is_refused_in_one_line(stores: list[str]) -> None:
    async with application(stores[:2], Bank()).client() as client:
        await client.submit("narrow", "order-1", id="order-1")
        with pytest.raises(SettingsError, match="run `stepward partitions add`"):
            await move(stores)
        with pytest.raises(SettingsError, match="found another in place 1"):
            await add(stores[::-1])
        await add(stores)
        await add(stores)
        with pytest.raises(SettingsError, match="expected a Scheduler that serves p3, found none"):
            await move(stores)
        with pytest.raises(SettingsError, match="expected all 3 partitions in the list, found 2"):
            async with application(stores[:2], Bank()).client():
                pass
        with pytest.raises(SettingsError, match="run `stepward partitions move` first"):
            await add([*stores, stores[0].replace("a.db", "d.db")])
        async with application(stores, Bank()).running():
            preview = await client.batches.preview("suspend", "workflow = 'narrow'")
            await client.batches.pause((await client.batches.start(preview, rate=0.01)).id)
            with pytest.raises(Refused, match="expected no batch under way"):
                await move(stores)


async def test_a_new_store_that_hangs_keeps_the_other_locked_for_no_longer_than_a_statement_may_take(
    stores: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    order = next(id for n in range(9999) if shard_of(id := f"order-{n}") == min(MOVED))
    async with application(stores[:2], Bank()).client() as client:
        await client.submit("fulfil", order, id=order)
        await add(stores)
    app = application(stores, Bank())
    async with app.running(), app.client() as client:
        with monkeypatch.context() as patch:
            patch.setattr(departure, "KEEP_SECONDS", 0.2)
            patch.setattr(Staging, "keep", hang)
            async with asyncio.timeout(5):
                with pytest.raises(StoreUnavailable, match="the shard stays where it was"):
                    await move(stores)
        await client.task(order).signal("paid", order)
        assert await ended(client, order) in TASK_ENDS
        assert len(await move(stores)) == len(MOVED)
    assert homes(stores)[order] == [2]


async def hang(staging: Staging, part: bytes) -> None:
    """A write that the server never answers."""
    await asyncio.Event().wait()


async def test_copies_that_a_move_left_behind_are_not_overlooked_by_a_deletion_or_by_the_keys(
    stores: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = sorted(MOVED)[:2]
    order = next(id for n in range(9999) if shard_of(id := f"order-{n}") == second)
    async with application(stores[:2], Bank()).client() as client:
        await client.submit("narrow", order, id=order)
        await add(stores)
    app = application(stores, Bank())
    async with app.running(), app.client() as client:
        assert await ended(client, order) is TaskState.PROCESSED
        assert await move(stores, "shard.commit.before") == [first]
        result = await asyncio.to_thread(CliRunner().invoke, key_uses, ["--store", stores[2]])
        assert "found parts of one whose move was cut off" in str(result.exception)
        with monkeypatch.context() as patch:
            patch.setattr("stepward.store.partitions.operators.batches.LOOKS", 2)
            with pytest.raises(Refused, match="run `stepward partitions move` first"):
                await client.delete(f"id = '{order}'")
        await move(stores)
        result = await asyncio.to_thread(CliRunner().invoke, key_uses, ["--store", stores[2]])
        assert result.exit_code == 0, result.output
        batch = await client.delete(f"id = '{order}'")
        await until(lambda: client.batches.get(batch.id), lambda found: found.done == 1)
    assert order not in homes(stores)


def test_the_command_shows_adds_and_moves(stores: list[str]) -> None:
    asyncio.run(_make_application(stores[:2]))
    listed = [word for store in stores for word in ("--store", store)]
    assert invoked("add", *listed).startswith("p3 added; start every process with all 3 stores")
    assert "p3" in invoked(*listed)
    found = json.loads(invoked("--json", *listed))
    assert [(each["name"], each["shards"], each["share"]) for each in found][-1] == ("p3", 0, 85)
    asyncio.run(_move_by_command(stores, listed))
    assert '"shards": 85' in invoked("--json", *listed)
    acts = looked_up(stores[0], "select act, details from stepward_audit where act in ('add', 'move') order by number")
    assert [(act, json.loads(details)) for act, details in acts] == [
        ("add", {"partition": "p3"}),
        ("move", {"partition": "p3", "shards": 85}),
    ]
    assert [each["store"].partition("?")[2] for each in found] == [store.partition("?")[2] for store in stores]


async def _make_application(stores: Sequence[str]) -> None:
    async with application(stores, Bank()).client() as client:
        await client.submit("narrow", "order-1", id="order-1")


async def _move_by_command(stores: Sequence[str], listed: Sequence[str]) -> None:
    async with application(stores, Bank()).running():
        said = await asyncio.to_thread(invoked, "move", *listed)
    assert said.splitlines()[-1].startswith("85 shards with ")


def invoked(*words: str) -> str:
    """What ``stepward partitions`` says."""
    result = CliRunner().invoke(partitions, words, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_every_table_is_one_that_moves_or_stays(stores: list[str]) -> None:
    asyncio.run(_make(stores[0]))
    tables = set(tables_of(stores[0]))
    known = {*rows.OF_TASK, *rows.OF_KEY, rows.WITH_ALERT, rows.WITH_MESSAGE, *rows.BY_TRIGGER, *rows.STAYS}
    assert tables == known


async def _make(store: str) -> None:
    async with opened([store]):
        pass
