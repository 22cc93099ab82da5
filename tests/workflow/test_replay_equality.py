"""Whatever the order of outcomes and wherever the task leaves memory, a replay gives the same history."""

from __future__ import annotations

import asyncio
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from stepward.errors import StepFailed
from stepward.workflow.definition import workflow
from stepward.workflow.functions import now, random, side_effect, wait_for
from tests.workflow.declared import charge, refund, ship, track
from tests.workflow.play import Play, histories


@workflow
async def tangled(order: str) -> list[Any]:
    told: list[Any] = []

    async def pay(number: int) -> None:
        try:
            async with asyncio.timeout(3 + number):
                told.append(await charge(order, number))
        except TimeoutError:
            told.append(["late", number, await refund(order)])
        except StepFailed as error:
            told.append([str(error), side_effect(lambda: len(told))])

    async def decide() -> None:
        try:
            told.append(await wait_for("approval", timeout=6))
        except TimeoutError:
            told.append([now().isoformat(), random()])
        told.append(await track(order))

    tasks = {asyncio.create_task(pay(number)) for number in range(4)}
    async with asyncio.TaskGroup() as group:
        group.create_task(decide())
        while tasks:
            done, tasks = await asyncio.wait(tasks, timeout=2, return_when=asyncio.FIRST_COMPLETED)
            told.append([len(done), random()])
    winner, losers = await asyncio.wait(
        [asyncio.create_task(ship("a")), asyncio.create_task(ship("b"))], return_when=asyncio.FIRST_COMPLETED
    )
    for loser in losers:
        loser.cancel()
    told += [one.result() for one in winner]
    return told


Act = tuple[str, int]
ACTS = st.lists(
    st.tuples(
        st.sampled_from(["finish", "finish", "fail", "fire", "signal", "restart", "record"]),
        st.integers(0, 7),
    ),
    max_size=40,
)


def perform(play: Play, act: Act, *, restarting: bool) -> None:
    verb, number = act
    running = play.running
    key = running[number % len(running)] if running else None
    if verb == "finish" and key:
        play.finish(key, f"result of {key}")
    elif verb == "fail" and key and key.startswith("charge"):
        play.fail(key)
    elif verb == "fire":
        play.fire(number)
    elif verb == "signal":
        play.signal("approval", number)
    elif verb == "restart" and restarting:
        decisions = play.restart()
        assert not (decisions.calls or decisions.recorded or decisions.delivered or decisions.abandoned)
    elif verb == "record" and key and restarting:
        play.record(key, f"result of {key}")
        play.restart()


def to_the_end(play: Play) -> None:
    for _ in range(200):
        if play.end is not None:
            return
        if play.running:
            play.finish(play.running[0], "in the end")
        else:
            play.fire(10)
    raise AssertionError("it never ends")


@settings(max_examples=150)
@given(ACTS)
def test_every_finished_history_replays_as_it_was(acts: list[Act]) -> None:
    play = Play(tangled, "o")
    for act in acts:
        if play.end is None:
            perform(play, act, restarting=True)
    to_the_end(play)
    assert play.verified() is None


@settings(max_examples=100)
@given(ACTS)
def test_leaving_memory_at_every_step_changes_nothing(acts: list[Act]) -> None:
    kept, evicted = Play(tangled, "o"), Play(tangled, "o")
    for act in acts:
        if kept.end is None:
            perform(kept, act, restarting=False)
            perform(evicted, act, restarting=False)
        if evicted.end is None:
            evicted.restart()
    to_the_end(kept)
    to_the_end(evicted)
    assert histories(list(kept.rows.values())) == histories(list(evicted.rows.values()))
    assert kept.result == evicted.result
