"""Signals: queued in order per name, each taken by one wait, recorded when taken."""

from __future__ import annotations

import asyncio
from typing import Any

from stepward.errors import InvalidPayload
from stepward.workflow.definition import workflow
from stepward.workflow.functions import wait_for
from stepward.workflow.waits.signals import Signal, Signals, Wait
from tests.workflow.declared import charge
from tests.workflow.play import Play


@workflow
async def two() -> list[Any]:
    return [await wait_for("go"), await wait_for("go")]


def test_a_signal_is_taken_by_one_wait_and_recorded() -> None:
    play = Play(two)
    assert play.execution.waits_for == "signal go"
    play.signal("other", 0)
    assert play.decisions.recorded == []
    play.signal("go", {"n": 1})
    (taken,) = play.decisions.recorded
    assert (taken.key, taken.name, taken.kind) == ("signal:go/1", "signal:go", "signal")
    assert (taken.output, taken.taken, taken.at) == (b'{"n": 1}', int(play.now * 10), play.now)
    play.restart()
    assert play.decisions.recorded == []
    play.signal("go", 2)
    assert play.result == [{"n": 1}, 2]
    assert play.verified() is None


def test_signals_that_came_before_are_taken_in_order() -> None:
    @workflow
    async def later() -> list[Any]:
        await charge("o")
        return [await wait_for("go"), await wait_for("go")]

    play = Play(later)
    play.signal("go", 1)
    play.signal("go", 2)
    play.finish("charge/1")
    assert play.result == [1, 2]
    assert [one.ordinal for one in play.decisions.recorded] == [2, 3]
    assert play.signals == {}
    assert play.verified() is None


def test_a_signal_given_before_the_start_is_taken_at_once() -> None:
    play = Play(two)
    play.execution.discard()
    play.signals[1] = ("go", b"1", play.now)
    play.signals[2] = ("go", b"2", play.now)
    play.begin()
    assert play.result == [1, 2]


def test_taking_is_a_delivery_of_its_own_so_that_replays_run_alike() -> None:
    @workflow
    async def branches() -> list[Any]:
        async def first() -> Any:
            await wait_for("go")
            return await charge("first")

        return list(await asyncio.gather(first(), charge("second")))

    play = Play(branches)
    play.execution.discard()
    play.rows.clear()
    play.signals[1] = ("go", b"1", play.now)
    play.begin()
    assert play.rows["charge/1"].input == b'["second",0]'
    play.restart()
    play.finish("charge/1", 1)
    play.finish("charge/2", 2)
    assert (play.result, play.verified()) == ([2, 1], None)


def test_a_wait_times_out_and_the_signal_goes_to_the_next() -> None:
    @workflow
    async def patient() -> list[Any]:
        try:
            await wait_for("go", timeout="10s")
        except TimeoutError as error:
            return [str(error), await wait_for("go")]
        return []

    play = Play(patient)
    play.fire(10)
    assert (play.decisions.abandoned, play.execution.waits_for) == ([], "signal go")
    play.restart()
    play.signal("go", 5)
    assert play.result == ["no signal 'go' within 10s", 5]
    assert play.verified() is None


def test_a_wait_that_got_its_signal_leaves_no_timer() -> None:
    @workflow
    async def patient() -> Any:
        got = await wait_for("go", timeout=10)
        await charge("o")
        return got

    play = Play(patient)
    play.signal("go", 5)
    assert play.execution.next_timer is None
    play.finish("charge/1")
    assert (play.result, play.verified()) == (5, None)


def test_no_timeout_at_all_polls() -> None:
    @workflow
    async def polling() -> list[Any]:
        got: list[Any] = []
        try:
            while True:
                got.append(await wait_for("go", timeout=0))
        except TimeoutError:
            return got

    play = Play(polling)
    play.execution.discard()
    play.signals[1] = ("go", b"1", play.now)
    play.begin()
    play.fire()
    assert (play.result, play.verified()) == ([1], None)


def test_a_payload_is_converted_or_refused() -> None:
    @workflow
    async def typed() -> list[str]:
        first = await wait_for("go", type=set[int])
        try:
            await wait_for("go", type=int)
        except InvalidPayload as error:
            return [str(sorted(first)), str(error)]
        return []

    play = Play(typed)
    play.signal("go", [2, 1])
    play.signal("go", "text")
    assert play.result[0] == "[1, 2]"
    assert play.result[1].startswith("signal go: expected JSON that fits int, found")


def test_a_signal_that_came_as_the_workflow_ended_is_left_alone() -> None:
    @workflow
    async def leaving() -> None:
        task = asyncio.create_task(wait_for("go"))
        await asyncio.sleep(0)
        assert not task.done()

    play = Play(leaving)
    play.signals[1] = ("go", b"1", play.now)
    play.begin()
    assert (play.decisions.recorded, list(play.signals)) == ([], [1])


def test_a_wait_that_is_cancelled_takes_nothing() -> None:
    @workflow
    async def cancelling() -> Any:
        task = asyncio.create_task(wait_for("go"))
        await charge("o")
        task.cancel()
        await asyncio.wait([task])
        return await wait_for("go")

    play = Play(cancelling)
    play.finish("charge/1")
    play.signal("go", 3)
    assert play.result == 3
    assert "signal:go/1" not in play.rows
    assert play.verified() is None


def test_of_several_waits_the_one_that_began_first_is_served_first() -> None:
    loop = asyncio.new_event_loop()
    signals = Signals()
    waits = [Wait(f"signal:{name}/1", number, name, loop.create_future()) for number, name in enumerate("cab", 1)]
    for wait in waits:
        signals.add(wait)
    for wait in reversed(waits):
        signals.put(wait.name, Signal(1, b"1", 0.0))
    served = list(iter(signals.take, None))
    assert [wait.number for wait, _ in served] == [1, 2, 3]
    loop.close()
