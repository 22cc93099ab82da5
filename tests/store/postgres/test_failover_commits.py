"""Commits and standbys: what none confirms is not acknowledged, what is acknowledged survives, the rest is unknown."""

from __future__ import annotations

import asyncio

import pytest

from servers.postgres import versions
from stepward.errors import CommitUnknown, StoreError, StoreUnavailable
from stepward.store.postgres import PostgresStore
from tests.store.conformance.world import World, scheduler
from tests.store.postgres.pairs import WAITING, Stage, frozen
from tests.store.postgres.proxy import proxy
from tests.store.postgres.worlds import environment_of
from tests.tiers import sampled

pytestmark = pytest.mark.servers

QUEUE = "replies.shop.web"
IDS = "select id from stepward_shop.task order by id"
IN_TRANSACTION = "select 1 from pg_stat_activity where state = 'idle in transaction'"
EVERY_VERSION = pytest.mark.parametrize(
    "version", sampled(sorted(versions()), min(versions()), max(versions())), indirect=True
)


@pytest.fixture
def world(stage: Stage) -> World:
    return World(lambda environment: pytest.fail("the stage opens the stores"))


@EVERY_VERSION
async def test_a_commit_that_no_standby_confirms_is_unknown_and_visible_to_no_transaction(
    stage: Stage, world: World
) -> None:
    store = await _at_work(stage)
    await stage.until("select 1 from pg_class where relname = 'task' and relkind = 'r'", 1, stage.pair.standby)
    with frozen(stage.pair.standby):
        with pytest.raises(CommitUnknown, match="read what became of it"):
            await store.client.submit([world.task("a")])
        assert await stage.rows(IDS) == []
        assert len(await stage.rows(WAITING)) == 1
    await stage.until(IDS)
    # It has kept what it confirmed, and shows it a little later.
    await stage.until(IDS, 1, stage.pair.standby)


async def test_commits_that_wait_for_a_standby_take_up_few_connections(stage: Stage, world: World) -> None:
    store = await _at_work(stage)
    with frozen(stage.pair.standby):
        with pytest.raises(CommitUnknown):
            await store.client.submit([world.task("a")])
        for _ in range(5):
            with pytest.raises(StoreUnavailable, match="expected a standby to confirm commits, found 1 waiting for it"):
                await store.client.submit([world.task("b")])
        assert len(await stage.rows(WAITING)) == 1
    await stage.until(WAITING, 0)
    assert [answer.created for answer in await store.client.submit([world.task("a"), world.task("b")])] == [False, True]


@pytest.mark.parametrize("verb", ["submit", "renew"])
async def test_a_caller_who_waits_no_longer_breaks_no_commit_off(stage: Stage, world: World, verb: str) -> None:
    store = await _at_work(stage)
    expiry = "select expires_at from stepward_shop.instance"
    before = await stage.rows(expiry)

    async def call() -> None:
        await (store.client.submit([world.task("a")]) if verb == "submit" else store.host.renew(["s1"], 1.0))

    with frozen(stage.pair.standby):
        calling = asyncio.create_task(call())
        await stage.until(WAITING)
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        for _ in range(5):
            # At first it only waits for what the other call has locked, and has no standby to wait for.
            with pytest.raises(StoreUnavailable) as caught:
                await call()
        assert "found 1 waiting for it" in str(caught.value)
        assert await stage.rows(IDS) == []
        assert await stage.rows(expiry) == before
        assert len(await stage.rows(WAITING)) == 1
    await stage.until(IDS if verb == "submit" else f"{expiry} where expires_at > {before[0][0]!r}")


async def test_a_commit_that_no_standby_confirmed_is_lost_with_the_primary_and_was_never_reported(
    stage: Stage, world: World
) -> None:
    store = await _at_work(stage)
    # What a frozen one has not read yet would still reach it.
    await asyncio.to_thread(stage.pair.standby.stop, immediate=True)
    with pytest.raises(CommitUnknown):
        await store.client.submit([world.task("a")])
    await asyncio.to_thread(stage.pair.primary.stop, immediate=True)
    await asyncio.to_thread(stage.pair.standby.start)
    await stage.fail_over()
    assert await stage.rows(IDS) == []
    (answer,) = await store.client.submit([world.task("a")])
    assert answer.created


@EVERY_VERSION
async def test_a_cancelled_wait_for_a_standby_leaves_the_commit_unknown(stage: Stage, world: World) -> None:
    store = await _at_work(stage)
    with frozen(stage.pair.standby):
        submitting = asyncio.create_task(store.client.submit([world.task("a")]))
        ((pid,),) = await stage.until(WAITING)
        await stage.rows(f"select pg_cancel_backend({pid})")
        with pytest.raises(CommitUnknown, match="may be lost with the primary"):
            await submitting
        assert await stage.rows(IDS) == [("a",)]


async def test_a_single_statement_whose_wait_is_cut_short_is_unknown_too(stage: Stage) -> None:
    store = await _at_work(stage)
    with frozen(stage.pair.standby):
        renewing = asyncio.create_task(store.host.renew(["s1"], 1.0))
        ((pid,),) = await stage.until(WAITING)
        await stage.rows(f"select pg_cancel_backend({pid})")
        with pytest.raises(CommitUnknown, match="may be lost with the primary"):
            await renewing


async def test_what_is_there_already_is_acknowledged_only_with_a_standby(stage: Stage, world: World) -> None:
    store, other = await _at_work(stage), await stage.opened()
    await scheduler(other, "s2", 1.0)
    with frozen(stage.pair.standby):
        submitting = asyncio.create_task(store.client.submit([world.task("a")]))
        ((pid,),) = await stage.until(WAITING)
        await stage.rows(f"select pg_cancel_backend({pid})")
        with pytest.raises(CommitUnknown):
            await submitting
        with pytest.raises(CommitUnknown):
            await other.client.submit([world.task("a")])
    await stage.until(WAITING, 0)
    assert [answer.created for answer in await other.client.submit([world.task("a")])] == [False]


@pytest.mark.parametrize("arrived", [True, False])
async def test_a_commit_whose_answer_was_lost_in_the_failover_is_unknown_and_read_back(
    stage: Stage, world: World, arrived: bool
) -> None:
    async with proxy(stage.pair.primary.port) as first, proxy(stage.pair.standby.port) as second:
        armed, held = asyncio.Event(), asyncio.Event()

        def hold(name: str) -> None:
            if armed.is_set() and name == "store.commit.before":
                (first.answers if arrived else first.questions).clear()
                held.set()

        hosts = f"127.0.0.1:{first.port},127.0.0.1:{second.port}"
        address = f"postgresql://postgres@{hosts}/{stage.name}"
        store = await stage.opened(address, environment_of(failpoint=hold))
        armed.set()
        # With events the task is a transaction of several statements.
        submitting = asyncio.create_task(store.client.submit([world.task("a", reply_to=QUEUE)]))
        await held.wait()
        await (stage.until(IDS) if arrived else stage.until(IN_TRANSACTION))
        await stage.fail_over()
        armed.clear()
        first.cut()
        first.open()
        with pytest.raises(CommitUnknown):
            await submitting
        assert await stage.rows(IDS) == ([("a",)] if arrived else [])
        (answer,) = await store.client.submit([world.task("a", reply_to=QUEUE)])
        assert answer.created is not arrived
        await store.close()


@pytest.mark.faults
async def test_what_was_acknowledged_survives_each_of_several_failovers(stage: Stage, world: World) -> None:
    clients = [Client(await stage.opened(), world, name) for name in "abcdef"]
    submitting = [asyncio.create_task(client.run()) for client in clients]
    for _ in range(3):
        await asyncio.gather(*[client.told(20) for client in clients])
        await stage.fail_over()
        await asyncio.gather(*[client.told(5) for client in clients])
        for client in clients:
            client.may_submit.clear()
        await stage.attach()
        for client in clients:
            client.may_submit.set()
    for task in submitting:
        task.cancel()
    await asyncio.gather(*submitting, return_exceptions=True)
    acknowledged = {id for client in clients for id in client.acknowledged}
    found = {id for (id,) in await stage.rows(IDS)}
    assert len(acknowledged) >= 6 * 75
    assert acknowledged <= found
    assert sum(client.refused for client in clients) > 0, "no failover met a client"


class Client:
    """Submits one task after the other, the same again until it is acknowledged."""

    def __init__(self, store: PostgresStore, world: World, name: str) -> None:
        self._store = store
        self._world = world
        self._name = name
        self._more = asyncio.Event()
        self.may_submit = asyncio.Event()
        self.may_submit.set()
        self.acknowledged: list[str] = []
        self.refused = 0

    async def run(self) -> None:
        while await self.may_submit.wait():
            task = self._world.task(f"{self._name}-{len(self.acknowledged)}")
            try:
                await self._store.client.submit([task])
            except StoreError:
                self.refused += 1
                continue
            self.acknowledged.append(task.id)
            self._more.set()

    async def told(self, count: int) -> None:
        """Wait until so many more are acknowledged."""
        wanted = len(self.acknowledged) + count
        async with asyncio.timeout(60):
            while len(self.acknowledged) < wanted:
                self._more.clear()
                await self._more.wait()


async def _at_work(stage: Stage) -> PostgresStore:
    """A store with short bounds, as of a Scheduler with a short lease."""
    store = await stage.opened()
    await scheduler(store, "s1", 1.0)
    return store
