"""Errors within ``accept`` affect their message only: it is tried again, and becomes a dead letter in the end."""

from __future__ import annotations

import asyncio
import gc
from itertools import pairwise
from typing import Any

import apsw
import pytest

from stepward import Accepted, Message
from stepward.errors import Refused
from stepward.store.contract import Transaction
from tests.submission.world import World, fulfil

BOUND = 10.0
"""Seconds that accept may take."""


def raising(error: BaseException) -> Any:
    async def accept(message: Message, transaction: Transaction) -> None:
        raise error

    return accept


def returning(value: Any) -> Any:
    async def accept(message: Message, transaction: Transaction) -> Any:
        return value

    return accept


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("not even that")


async def cancels_itself(message: Message, transaction: Transaction) -> Accepted:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await asyncio.sleep(0)
    return Accepted(fulfil, "tea")


async def hangs(message: Message, transaction: Transaction) -> None:
    await asyncio.Event().wait()


async def breaks_a_constraint(message: Message, transaction: Transaction) -> None:
    await transaction.execute("insert into placed values (?)", (message.id,))


async def writes_no_sql(message: Message, transaction: Transaction) -> None:
    await transaction.execute("insert into nowhere values (1)")


async def rolls_all_back(message: Message, transaction: Transaction) -> None:
    await transaction.execute("insert or rollback into placed values (?)", (message.id,))


async def rolls_all_back_in_silence(message: Message, transaction: Transaction) -> Accepted:
    with pytest.raises(apsw.ConstraintError):
        await transaction.execute("insert or rollback into placed values (?)", (message.id,))
    return Accepted(fulfil, "tea")


FAILURES = {
    "an error": (raising(LookupError("no price")), "LookupError: no price"),
    "an error without words": (raising(LookupError()), "LookupError"),
    "an error that cannot be told": (raising(Mute()), "Mute"),
    "an error in lines": (raising(ValueError("one\n\ntwo\ud800")), "ValueError: one two\\ud800"),
    "an error of a novel's length": (raising(ValueError("x" * 100_000)), "ValueError: xxx"),
    "a group of errors": (raising(ExceptionGroup("many", [ValueError()])), "ExceptionGroup: many"),
    "exit": (raising(SystemExit(3)), "SystemExit: 3"),
    "the end of a generator": (raising(GeneratorExit()), "RuntimeError: accept raised GeneratorExit"),
    "a cancellation": (raising(asyncio.CancelledError()), "RuntimeError: expected accept to return or raise"),
    "cancelling itself": (cancels_itself, "RuntimeError: expected accept to return or raise, found it cancelled"),
    "no end": (hangs, "TimeoutError: expected accept to end within 10 s, found it still running"),
    "nothing": (returning(None), "TypeError: expected accept to return an Accepted, found None"),
    "a task of its own making": (returning({"task": 1}), "found {'task': 1}"),
    "the class": (returning(Accepted), "TypeError: expected accept to return an Accepted, found <class"),
    "a broken constraint": (breaks_a_constraint, "ConstraintError: UNIQUE constraint failed: placed.id"),
    "wrong SQL": (writes_no_sql, "SQLError: no such table: nowhere"),
    "rolling all back": (rolls_all_back, "StoreUnavailable: transaction: expected it open, found it rolled back"),
    "rolling all back in silence": (rolls_all_back_in_silence, "StoreUnavailable: transaction: expected it open"),
}


@pytest.mark.parametrize("what", FAILURES)
async def test_a_failure_is_tried_five_times_and_then_buried(world: World, what: str) -> None:
    accept, reason = FAILURES[what]
    world.desk.plans["bad"] = accept
    await world.post("before", "bad", "after")
    await world.run()
    (letter,) = await world.buried()
    assert letter.reason.startswith("failed 5 times: ")
    assert reason in letter.reason
    assert letter.reason.isprintable()
    assert len(letter.reason) <= 1_001
    assert letter.tries == 5
    assert sorted(set(world.desk.tries("bad"))) == [1, 2, 3, 4, 5]
    assert await world.both() == ["before", "after"]
    await world.post("last")
    await world.emptied()
    assert await world.both() == ["before", "after", "last"]


async def test_the_delay_between_tries_grows(world: World) -> None:
    world.desk.plans["bad"] = raising(LookupError("no price"))
    await world.post("bad")
    await world.run()
    await world.buried()
    times = [at for _, _, at in world.desk.calls]
    delays = [later - earlier for earlier, later in pairwise(times)]
    # Looking again at the slow poll adds up to a second.
    assert [int(delay) for delay in delays] == pytest.approx([1, 2, 4, 8], abs=1)
    assert delays == sorted(delays)


async def test_others_are_accepted_between_the_tries(world: World) -> None:
    world.desk.plans["bad"] = raising(LookupError("no price"))
    await world.run()
    await world.post("bad")
    for id in ("a", "b", "c"):
        await world.post(id)
        await world.both_hold(id)
    assert len(world.desk.tries("bad")) < 5


async def test_a_message_that_fails_for_a_while_is_accepted_once(world: World) -> None:
    world.desk.plans["late"] = [raising(LookupError("no price")), hangs, rolls_all_back]
    await world.post("late")
    await world.run()
    await world.emptied()
    assert await world.both() == ["late"]
    assert await world.client.dead_letters() == []
    assert await world.client.alerts() == []


async def test_failures_of_a_batch_are_put_off_in_one_commit(world: World) -> None:
    ids = [f"n-{n:03}" for n in range(50)]
    world.desk.plans |= {id: [raising(LookupError("no price"))] for id in ids}
    await world.post(*ids)
    passed: list[str] = []
    await world.run(world.app(failpoint=passed.append))
    await world.emptied()
    assert sorted(await world.both()) == ids
    acknowledging = passed[passed.index("submission.acknowledge.before") : passed.index("submission.acknowledge.after")]
    assert acknowledging.count("store.commit.before") == 1


async def test_an_accept_that_does_not_let_itself_be_cancelled_holds_up_nothing(world: World) -> None:
    released = asyncio.Event()
    late: list[str] = []
    unheard: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: unheard.append(context))

    async def stubborn(message: Message, transaction: Transaction) -> Accepted:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await released.wait()
        try:
            await transaction.execute("insert into placed values ('late')")
        except Refused as error:
            late.append(str(error))
        raise LookupError("too late for anybody to hear")

    world.desk.plans["bad"] = stubborn
    await world.post("bad", "after")
    await world.run()
    (letter,) = await world.buried()
    assert "found it still running" in letter.reason
    assert await world.both() == ["after"]
    released.set()
    await asyncio.wait_for(_until_five(late), BOUND)
    assert late == ["transaction: expected use within accept, found accept over; await what uses it there"] * 5
    assert await world.both() == ["after"]
    gc.collect()
    assert unheard == [], "what nobody waits for any more is no exception that was never retrieved"


async def _until_five(late: list[str]) -> None:
    while len(late) < 5:  # noqa: ASYNC110  the calls are abandoned: there is no event of their end
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("verb", ["execute", "submit", "known", "savepoint", "finish"])
async def test_the_transaction_is_no_use_after_accept(world: World, verb: str) -> None:
    kept: list[Any] = []

    async def keeps(message: Message, transaction: Transaction) -> Accepted:
        kept.append(transaction)
        return Accepted(fulfil, "tea")

    async def uses(message: Message, transaction: Transaction) -> Accepted:
        given: dict[str, tuple[Any, ...]] = {
            "execute": ("insert into placed values ('stolen')",),
            "submit": ([],),
            "known": ([],),
            "savepoint": (),
            "finish": ("s1", None),
        }
        with pytest.raises(Refused, match="found accept over"):
            await getattr(kept[0], verb)(*given[verb])
        return Accepted(fulfil, "tea")

    world.desk.plans |= {"keeps": keeps, "uses": uses}
    await world.post("keeps", "uses")
    await world.run()
    await world.emptied()
    assert await world.both() == ["keeps", "uses"]
    assert world.told("submission.accept_failed") == []


async def test_code_that_accept_leaves_running_writes_nothing(world: World) -> None:
    left: list[asyncio.Task[Any]] = []

    async def leaves(message: Message, transaction: Transaction) -> Accepted:
        left.append(asyncio.create_task(transaction.execute("insert into placed values ('stolen')")))
        return Accepted(fulfil, "tea")

    world.desk.plans["leaves"] = leaves
    await world.post("leaves", "after")
    await world.run()
    await world.emptied()
    assert await world.both() == ["leaves", "after"]
    with pytest.raises(Refused, match="found accept over"):
        await left[0]


async def test_a_part_that_a_hanging_accept_left_open_takes_nothing_of_others_along(world: World) -> None:
    async def hangs_in_a_part(message: Message, transaction: Transaction) -> None:
        async with transaction.savepoint():
            await transaction.execute("insert into placed values ('part')")
            await asyncio.Event().wait()

    world.desk.plans["bad"] = hangs_in_a_part
    await world.post("before", "bad", "after")
    await world.run()
    await world.buried()
    assert await world.both() == ["before", "after"]


async def test_accept_may_have_parts_of_its_own(world: World) -> None:
    async def parts(message: Message, transaction: Transaction) -> Accepted:
        with pytest.raises(apsw.ConstraintError):
            async with transaction.savepoint():
                await transaction.execute("update placed set id = 'other'")
                await transaction.execute("insert into placed values ('other')")
        assert await transaction.known([message.id]) == set()
        return Accepted(fulfil, "tea")

    world.desk.plans["A-1"] = parts
    await world.post("A-1")
    await world.run()
    await world.emptied()
    assert await world.both() == ["A-1"]


@pytest.mark.parametrize("sql", ["release part", "rollback to part", "end", "rollback", "begin", "savepoint mine"])
async def test_accept_ends_no_part_but_its_own(world: World, sql: str) -> None:
    async def ends(message: Message, transaction: Transaction) -> Accepted:
        await transaction.execute(sql)
        raise LookupError("no price")

    world.desk.plans["bad"] = ends
    await world.post("before", "bad", "after")
    await world.run()
    await world.buried()
    assert await world.both() == ["before", "after"]
