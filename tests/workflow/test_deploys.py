"""Changed code under a task at every point of its life: it fits, or it is stopped at the first difference.

Nothing is decided by code that does not fit, both sides are named, and the right code goes on as if nothing had been.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from stepward.errors import StepFailed
from stepward.model.action import Action
from stepward.workflow.decisions import Diverged
from stepward.workflow.definition import Workflow, workflow
from stepward.workflow.functions import side_effect, wait_for
from tests.workflow.declared import charge, refund, ship, track
from tests.workflow.play import Play, histories

ACTS: list[Callable[[Play], None]] = [
    lambda play: play.finish("charge/1", "c"),
    lambda play: play.finish("refund/1", "r"),
    lambda play: play.finish("ship/1", "s"),
    lambda play: play.finish("parcels.track/1", 3),
    lambda play: play.signal("approval", "yes"),
    lambda play: play.fire(5),
    lambda play: play.fail("charge/2"),
    lambda play: play.finish("refund/2", "again"),
    lambda play: play.finish("charge/3", "last"),
]
"""The life of the reference task: between two of them, and before the first, it may meet another deploy."""


def code(change: str = "") -> Workflow[..., Any]:  # noqa: C901  one place for all changes
    """The reference workflow, with one change."""

    async def body(order: str) -> list[Any]:  # noqa: C901
        told: list[Any] = []
        if change == "added before":
            await track("new")
        if change == "renamed":
            told.append(await ship(order))
        elif change != "removed":
            told.append(await charge(order, 2 if change == "other arguments" else 1))
        if change == "added after":
            await ship("extra")
        if change == "sleep added":
            await asyncio.sleep(1)
        told.append(side_effect(lambda: "drawn"))
        steps: list[Action[[str], Any]] = [refund, ship, track] if change == "reordered" else [ship, refund, track]
        asked = [step(order) for step in (steps[:2] if change == "child gone" else steps)]
        if change == "fan-out wider":
            asked.append(charge("one more"))
        told += await asyncio.gather(*asked)
        if change == "exception introduced":
            raise KeyError("typo")
        if change == "other branch":
            told.append(await charge("instead"))
        else:
            told.append(await wait_for("veto" if change == "other signal" else "approval", timeout=50))
        await asyncio.sleep(5)
        for turn in range({"loop once more": 3, "loop once less": 1}.get(change, 2)):
            try:
                told.append(await charge(order, turn))
            except StepFailed:
                if change != "fallback removed":
                    told.append(await refund("after all"))
        return told

    if change == "parameter added":

        @workflow(name="reference")
        async def wider(order: str, size: int) -> list[Any]:
            return await body(order)

        return wider
    if change == "parameter with a default added":

        @workflow(name="reference")
        async def optional(order: str, size: int = 3) -> list[Any]:
            return await body(order)

        return optional

    @workflow(name="reference")
    async def reference(order: str) -> list[Any]:
        return await body(order)

    return reference


class Deploy(NamedTuple):
    """A change, the first point from which it does not fit (None: never), and the expected message."""

    change: str
    from_point: int | None
    told: str = ""


DEPLOYS = [
    Deploy("", None),
    Deploy("renamed", 0, "the record has charge as command 1, the code asks for ship (test_deploys.py:"),
    Deploy("removed", 0, "the record has charge as command 1, the code asks for side_effect (test_deploys.py:"),
    Deploy("added before", 0, "the record has charge as command 1, the code asks for parcels.track (test_deploys.py:"),
    Deploy("added after", 1, "the record has side_effect as command 2, the code asks for ship (test_deploys.py:"),
    Deploy("reordered", 1, "the record has ship as command 3, the code asks for refund (test_deploys.py:"),
    Deploy("other branch", 5, "the record has a wait for signal approval as command 6, the code asks for charge"),
    Deploy("child gone", 1, "the record has parcels.track as command 5 ("),
    Deploy("fan-out wider", 2, "the record has nothing as command 6 before it tells of refund (ordinal 3), the code"),
    Deploy("other signal", 5, "a wait for signal approval as command 6, the code asks for a wait for signal veto"),
    Deploy("sleep added", 1, "the record has side_effect as command 2, the code asks for a timer (test_deploys.py:"),
    Deploy("loop once more", None),
    Deploy("loop once less", 8, "the record goes on with charge (command 11), the code returned"),
    Deploy("exception introduced", 5, "the code raised KeyError: 'typo' at test_deploys.py:"),
    Deploy("fallback removed", 7, "the record has refund as command 10, the code asks for charge (test_deploys.py:"),
    Deploy("parameter added", 0, "the code raised InvalidArguments: "),
    Deploy("parameter with a default added", None),
    Deploy("other arguments", None),
]


def at(point: int) -> Play:
    """The reference task after so many acts."""
    play = Play(code(), "o")
    for act in ACTS[:point]:
        act(play)
    return play


def ended(play: Play, point: int) -> Any:
    """The result of the remaining play."""
    for act in ACTS[point:]:
        act(play)
    return play.result


WHOLE = at(len(ACTS))


@pytest.mark.parametrize("deploy", DEPLOYS, ids=lambda deploy: deploy.change or "unchanged")
@pytest.mark.parametrize("point", range(len(ACTS)))
def test_code_that_does_not_fit_decides_nothing_and_the_right_code_goes_on(deploy: Deploy, point: int) -> None:
    play = at(point)
    before = histories(list(play.rows.values()))
    decisions = play.restart(code(deploy.change))
    if deploy.from_point is None or point < deploy.from_point:
        assert not isinstance(play.end, Diverged)
        return
    assert isinstance(play.end, Diverged), play.end
    assert deploy.told in play.end.message
    assert not (decisions.calls or decisions.recorded or decisions.delivered or decisions.abandoned)
    assert histories(list(play.rows.values())) == before

    decisions = play.restart(code())
    assert not (decisions.calls or decisions.recorded or decisions.delivered or decisions.abandoned)
    assert ended(play, point) == WHOLE.result
    assert histories(list(play.rows.values())) == histories(list(WHOLE.rows.values()))


@pytest.mark.parametrize("point", range(len(ACTS)))
def test_an_outcome_that_came_while_the_code_did_not_fit_is_delivered_to_the_right_code(point: int) -> None:
    play = at(point)
    play.restart(code("renamed"))
    assert isinstance(play.end, Diverged)
    for key in play.running:
        play.record(key, "meanwhile" if key != "parcels.track/1" else 3)
    waiting = play.running
    decisions = play.restart(code())
    assert {one.key for one in decisions.delivered}.issuperset(waiting)
    assert not isinstance(decisions.end, Diverged)
    assert not isinstance(play.restart(code()).end, Diverged)


def test_changed_code_that_fits_goes_on_to_its_own_end_wherever_it_leaves_memory() -> None:
    changed = code("loop once more")
    for point in range(len(ACTS)):
        play = at(point)
        play.restart(changed)
        for act in ACTS[point:]:
            act(play)
            play.restart(changed)
        play.finish("charge/4", "extra")
        assert play.result == [*WHOLE.result, "extra"]
