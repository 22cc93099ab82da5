from __future__ import annotations

import asyncio

import pytest

from stepward.errors import InstanceFenced, Refused, StoreUnavailable
from stepward.model.states import StepState, TaskState
from stepward.store.contract import Change, Store
from tests.store.conformance.world import DONE, World, add_steps, claimed, finish, move, read_step, scheduler, step
from tests.store.listing import listed


async def rows(store: Store) -> list[tuple[object, ...]]:
    async with store.client.transaction() as transaction:
        return await transaction.execute("select name from cart order by name")


def _needs_one_writer(world: World) -> None:
    if not world.place.one_writer:
        pytest.skip("here transactions run beside one another, and a savepoint outlives what fails in it")


@pytest.fixture
async def cart(store: Store) -> Store:
    """A store beside an application's table."""
    async with store.client.transaction() as transaction:
        await transaction.execute("create table cart (name text)")
    return store


async def test_application_rows_and_tasks_commit_together(world: World, cart: Store) -> None:
    task = world.task("a")
    async with cart.client.transaction() as transaction:
        await transaction.execute("insert into cart values ($1)", ("pen",))
        (answer,) = await transaction.submit([task])
    assert (answer.created, await cart.client.task("a"), await rows(cart)) == (True, task, [("pen",)])


async def test_an_exception_rolls_both_back(world: World, cart: Store) -> None:
    with pytest.raises(KeyError):
        async with cart.client.transaction() as transaction:
            await transaction.execute("insert into cart values ('pen')")
            await transaction.submit([world.task("a")])
            raise KeyError
    assert (await cart.client.task("a"), await rows(cart)) == (None, [])


async def test_a_cancelled_transaction_rolls_back(world: World, cart: Store) -> None:
    inside = asyncio.Event()

    async def hang() -> None:
        async with cart.client.transaction() as transaction:
            await transaction.execute("insert into cart values ('pen')")
            inside.set()
            await asyncio.Event().wait()

    hanging = asyncio.create_task(hang())
    await inside.wait()
    hanging.cancel()
    with pytest.raises(asyncio.CancelledError):
        await hanging
    assert await rows(cart) == []


async def test_a_writer_waits_for_the_transaction_to_end(world: World, cart: Store) -> None:
    _needs_one_writer(world)
    async with cart.client.transaction() as transaction:
        await transaction.submit([world.task("a")])
        writing = asyncio.create_task(cart.client.submit([world.task("b")]))
        for _ in range(5):
            await asyncio.sleep(0)
        assert not writing.done()
    (answer,) = await writing
    assert answer.created


async def test_transactions_of_one_store_take_turns(world: World, cart: Store) -> None:
    _needs_one_writer(world)

    async def add(name: str) -> None:
        async with cart.client.transaction() as transaction:
            ((count,),) = await transaction.execute("select count(*) from cart")
            await asyncio.sleep(0)
            await transaction.execute("insert into cart values ($1)", (f"{count}",))

    await asyncio.gather(*[add(f"{number}") for number in range(5)])
    assert await rows(cart) == [(f"{number}",) for number in range(5)]


async def test_a_steps_outcome_commits_with_its_rows(world: World, cart: Store) -> None:
    task = await claimed(world, cart)
    await add_steps(cart, task, step(task))
    async with cart.client.transaction() as transaction:
        await transaction.execute("insert into cart values ('pen')")
        assert await transaction.finish("s1", finish(step(task), ordinal=8))
    found = await read_step(cart, task)
    assert (found.state, found.output, found.ordinal) == (StepState.COMPLETED, DONE, None)


async def test_a_step_that_is_no_longer_at_that_attempt_is_not_finished(world: World, cart: Store) -> None:
    task = await claimed(world, cart)
    await add_steps(cart, task, step(task))
    await scheduler(cart, "s2")
    async with cart.client.transaction() as transaction:
        assert not await transaction.finish("s1", finish(step(task, attempt=2)))
        assert not await transaction.finish("s2", finish(step(task)))
    assert (await read_step(cart, task)).state is StepState.RUNNING


async def test_a_step_of_a_task_that_is_undoing_is_not_finished(world: World, cart: Store) -> None:
    """What commits then would never be undone."""
    task = await claimed(world, cart)
    await add_steps(cart, task, step(task))
    change = Change(task=task.uid, move=move(task, TaskState.UNDOING, undo_to=TaskState.CANCELLED))
    assert (await cart.scheduler.commit("s1", [change], None)).missed == {}
    async with cart.client.transaction() as transaction:
        assert not await transaction.finish("s1", finish(step(task)))
    assert (await read_step(cart, task)).state is StepState.RUNNING


async def test_a_fenced_instance_finishes_nothing(world: World, cart: Store) -> None:
    task = await claimed(world, cart)
    await add_steps(cart, task, step(task))
    await cart.host.retire("s1")
    with pytest.raises(InstanceFenced):
        async with cart.client.transaction() as transaction:
            await transaction.finish("s1", finish(step(task)))
    assert (await read_step(cart, task)).state is StepState.RUNNING


async def test_a_transaction_knows_the_ids_of_tasks_its_own_too(world: World, store: Store) -> None:
    await store.client.submit([world.task("a")])
    async with store.client.transaction() as transaction:
        assert await transaction.known(["a", "b", "c"]) == {"a"}
        await transaction.submit([world.task("b")])
        assert await transaction.known(["a", "b", "c"]) == {"a", "b"}
        assert await transaction.known([]) == set()


async def test_a_savepoint_rolls_back_only_its_own_part(world: World, cart: Store) -> None:
    async with cart.client.transaction() as transaction:
        await transaction.execute("insert into cart values ('before')")
        with pytest.raises(KeyError):
            async with transaction.savepoint():
                await transaction.execute("insert into cart values ('within')")
                await transaction.submit([world.task("within")])
                raise KeyError
        async with transaction.savepoint():
            await transaction.execute("insert into cart values ('kept')")
            await transaction.submit([world.task("kept")])
        await transaction.execute("insert into cart values ('after')")
    assert await rows(cart) == [("after",), ("before",), ("kept",)]
    assert [task.id for task in await listed(cart)] == ["kept"]


async def test_savepoints_stand_within_one_another(world: World, cart: Store) -> None:
    async with cart.client.transaction() as transaction, transaction.savepoint():
        await transaction.execute("insert into cart values ('outer')")
        with pytest.raises(KeyError):
            async with transaction.savepoint():
                await transaction.execute("insert into cart values ('inner')")
                raise KeyError
    assert await rows(cart) == [("outer",)]


async def test_a_cancelled_savepoint_is_rolled_back(world: World, cart: Store) -> None:
    async with cart.client.transaction() as transaction:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0), transaction.savepoint():
                await transaction.execute("insert into cart values ('pen')")
                await asyncio.Event().wait()
    assert await rows(cart) == []


async def test_a_savepoint_that_is_left_after_the_whole_was_rolled_back_says_so(world: World, cart: Store) -> None:
    _needs_one_writer(world)
    with pytest.raises(StoreUnavailable, match="rolled back by an earlier statement"):
        async with cart.client.transaction() as transaction:
            await transaction.execute("create unique index one on cart (name)")
            await transaction.submit([world.task("neighbour")])
            async with transaction.savepoint():
                await transaction.execute("insert into cart values ('pen')")
                await transaction.execute(world.place.doomed)
    assert (await listed(cart), await rows(cart)) == ([], [])


async def test_nothing_more_is_done_in_a_transaction_that_is_rolled_back(world: World, cart: Store) -> None:
    async with cart.client.transaction() as transaction:
        await transaction.execute("create unique index one on cart (name)")
        await transaction.execute("insert into cart values ('pen')")
    entered: list[str] = []
    with pytest.raises(StoreUnavailable, match="rolled back by an earlier statement"):
        async with cart.client.transaction() as transaction:
            with pytest.raises(Exception, match=r"(?i)unique"):
                await transaction.execute(world.place.doomed)
            with pytest.raises(Refused, match="found it rolled back"):
                await transaction.execute("insert into cart values ('pencil')")
            with pytest.raises(StoreUnavailable, match="found it rolled back"):
                await transaction.submit([world.task("a")])
            async with transaction.savepoint():
                entered.append("a part of what is over")
    assert entered == []
    assert (await listed(cart), await rows(cart)) == ([], [("pen",)])


async def test_no_outcome_is_recorded_in_a_transaction_that_is_rolled_back(world: World, cart: Store) -> None:
    task = await claimed(world, cart)
    await add_steps(cart, task, step(task))
    with pytest.raises(StoreUnavailable):
        async with cart.client.transaction() as transaction:
            await transaction.execute("create unique index one on cart (name)")
            await transaction.execute("insert into cart values ('pen')")
            with pytest.raises(Exception, match=r"(?i)unique"):
                await transaction.execute(world.place.doomed)
            await transaction.finish("s1", finish(step(task)))
    assert (await read_step(cart, task)).state is StepState.RUNNING


async def test_an_ended_transaction_writes_nothing_into_the_next(world: World, cart: Store) -> None:
    async with cart.client.transaction() as ended:
        part = ended.savepoint()
        await part.__aenter__()
    async with cart.client.transaction() as transaction:
        with pytest.raises(Refused, match="expected use within its block, found it ended"):
            await ended.execute("insert into cart values ('pen')")
        with pytest.raises(Refused, match="found it ended"):
            await ended.submit([world.task("a")])
        with pytest.raises(Refused, match="found it ended"):
            await ended.known(["a"])
        with pytest.raises(Refused, match="found it ended"):
            async with ended.savepoint():
                pass
        with pytest.raises(Refused, match="found it ended"):
            await part.__aexit__(None, None, None)
        with pytest.raises(Refused, match="found it ended"):
            await ended.finish("s1", finish(step(world.task("a"))))
        await transaction.execute("insert into cart values ('ink')")
    assert (await cart.client.task("a"), await rows(cart)) == (None, [("ink",)])


async def test_a_transaction_that_was_rolled_back_writes_nothing_by_itself(world: World, cart: Store) -> None:
    with pytest.raises(KeyError):
        async with cart.client.transaction() as ended:
            raise KeyError
    with pytest.raises(Refused, match="found it ended"):
        await ended.execute("insert into cart values ('pen')")
    with pytest.raises(Refused, match="found it ended"):
        await ended.submit([world.task("a")])
    assert (await cart.client.task("a"), await rows(cart)) == (None, [])


async def test_a_transaction_within_another_is_refused_at_once(world: World, cart: Store) -> None:
    async with cart.client.transaction() as transaction:
        await transaction.execute("insert into cart values ('pen')")
        with pytest.raises(Refused, match="expected no other one of this store open here, found one"):
            async with cart.client.transaction():
                pass
    assert await rows(cart) == [("pen",)]
