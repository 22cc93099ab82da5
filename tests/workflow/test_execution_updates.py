"""Updates in workflow code: validated before they are recorded, taken by one wait, answered once over all replays."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from stepward.errors import Refused
from stepward.workflow.decisions import Diverged
from stepward.workflow.definition import workflow
from stepward.workflow.functions import now, wait_for
from stepward.workflow.functions import random as chance
from stepward.workflow.waits.updates import wait_for_update
from tests.workflow.declared import charge
from tests.workflow.play import Play


def update(play: Play, id: str, value: Any, name: str = "address") -> None:
    play.signal(f"update:{name}", {"id": id, "value": value})


def no_empty_street(address: dict[str, str]) -> None:
    if not address["street"]:
        raise ValueError("no street")


@workflow
async def parcel() -> str:
    address = await wait_for_update("address", type=dict[str, str], validator=no_empty_street)
    address.accept(len(address.value["street"]))
    await charge("o")
    return address.value["street"]


def test_an_accepted_update_is_recorded_and_answered_once() -> None:
    play = Play(parcel)
    assert play.execution.waits_for == "update address"
    update(play, "u1", {"street": "Mole"})
    assert play.answers == {"u1": (True, 4)}
    assert [one.key for one in play.decisions.recorded] == ["signal:update:address/1", "answer:address/1"]
    assert play.restart().answers == []
    play.finish("charge/1")
    assert play.result == "Mole"
    assert play.verified() is None


@pytest.mark.parametrize(
    ("value", "reason"),
    [({"street": ""}, "no street"), ({}, "street"), ("text", "found `str`"), ({"street": 1}, "found `int`")],
)
def test_a_rejected_update_leaves_nothing_in_the_record(value: Any, reason: str) -> None:
    play = Play(parcel)
    update(play, "u1", value)
    accepted, error = play.answers["u1"]
    assert not accepted
    assert reason in error["message"]
    assert (play.rows, play.signals, play.end) == ({}, {}, None)
    update(play, "u2", {"street": "Mole"})
    assert play.answers["u2"] == (True, 4)


def test_updates_that_came_before_the_wait_are_validated_in_order() -> None:
    play = Play(parcel)
    play.execution.discard()
    for number, street in enumerate(["", "", "Mole", "Quay"], 1):
        value = f'{{"id": "u{number}", "value": {{"street": "{street}"}}}}'
        play.signals[number] = ("update:address", value.encode(), play.now)
    play.begin()
    assert {id: accepted for id, (accepted, _) in play.answers.items()} == {"u1": False, "u2": False, "u3": True}
    assert list(play.signals) == [4]


def test_a_rejected_update_is_rejected_while_a_step_runs() -> None:
    @workflow
    async def busy() -> list[Any]:
        return list(await asyncio.gather(charge("o"), wait_for_update("address", type=int)))

    play = Play(busy)
    update(play, "u1", "no number")
    assert not play.answers["u1"][0]
    assert list(play.rows) == ["charge/1"]


def test_an_update_of_another_name_waits() -> None:
    play = Play(parcel)
    update(play, "u1", {"street": "Mole"}, name="other")
    assert play.answers == {}
    assert len(play.signals) == 1


def test_the_workflow_rejects_what_it_has_received() -> None:
    @workflow
    async def picky() -> int:
        for count in range(1, 10):
            found = await wait_for_update("amount", type=int)
            if found.value < 10:
                found.accept()
                return count
            found.reject("too much")
        return 0

    play = Play(picky)
    update(play, "u1", 20, name="amount")
    update(play, "u2", 2, name="amount")
    assert play.answers == {"u1": (False, {"message": "too much", "type": "UpdateRejected"}), "u2": (True, None)}
    assert play.result == 2
    assert play.verified() is None


def test_an_update_is_answered_later_than_taken_and_once() -> None:
    second: list[str] = []

    @workflow
    async def slow() -> None:
        found = await wait_for_update("address")
        await charge("o")
        found.accept("done")
        try:
            found.reject("no")
        except Refused as error:
            second.append(str(error))

    play = Play(slow)
    update(play, "u1", None)
    assert play.answers == {}
    play.restart()
    play.finish("charge/1")
    assert play.answers == {"u1": (True, "done")}
    assert second == ["update address: expected one answer, found a second one; answer each update once"]
    assert play.verified() is None


def test_code_that_answers_no_more_does_not_fit_the_record() -> None:
    @workflow
    async def silent() -> str:
        address = await wait_for_update("address", type=dict[str, str])
        await charge("o")
        return address.value["street"]

    play = Play(parcel)
    update(play, "u1", {"street": "Mole"})
    play.restart(silent)
    assert isinstance(play.end, Diverged)
    assert "answer:address" in play.end.message


def test_a_wait_ends_with_its_timeout() -> None:
    @workflow
    async def patient() -> str:
        try:
            await wait_for_update("address", timeout=5)
        except TimeoutError as error:
            return str(error)
        return "came"

    play = Play(patient)
    play.fire(5)
    assert play.result == "no update 'address' within 5s"


@pytest.mark.parametrize("use", [now, chance, asyncio.get_running_loop])
def test_a_validator_reaches_nothing_of_the_workflow(use: Any) -> None:
    @workflow
    async def curious() -> None:
        await wait_for_update("address", validator=lambda _: use())

    play = Play(curious)
    update(play, "u1", None)
    accepted, error = play.answers["u1"]
    assert not accepted
    assert "running" in error["message"]
    assert (play.rows, play.end) == ({}, None)


def test_a_validator_that_would_wait_is_refused() -> None:
    async def later(_: object) -> None: ...

    @workflow
    async def wrong() -> str:
        try:
            await wait_for_update("address", validator=later)
        except Refused as error:
            return str(error)
        return ""

    assert Play(wrong).result.startswith("validator of update address: expected a plain function")


def test_a_signal_may_not_be_named_like_an_update() -> None:
    @workflow
    async def wrong() -> str:
        try:
            await wait_for("update:address")
        except Refused as error:
            return str(error)
        return ""

    assert "use update and wait_for_update" in Play(wrong).result


def test_what_is_no_update_is_dropped() -> None:
    play = Play(parcel)
    play.signal("update:address", "garbage")
    assert (play.rows, play.signals) == ({}, {})
