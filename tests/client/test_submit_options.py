"""One options type: ``submit``, ``put`` and ``Accepted`` name what it has one by one, and ``submit_many`` takes it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from stepward import (
    Accepted,
    App,
    Client,
    Outbox,
    Refused,
    SubmitOptions,
    SyncClient,
    SyncOutbox,
    workflow,
)
from stepward.client import Options

HINTS = get_type_hints(SubmitOptions)
FLAT = [Client.submit, SyncClient.submit, Outbox.put, SyncOutbox.put]


@workflow
async def ship(order: str) -> str:
    return order


@pytest.mark.parametrize("function", FLAT)
def test_signatures_that_name_the_options_have_all_with_their_types_and_defaults(function: Callable[..., Any]) -> None:
    parameters = inspect.signature(function).parameters
    defaults = {each: parameters[each].default for each in HINTS}
    assert {each: get_type_hints(function)[each] for each in HINTS} == HINTS
    assert Options(**defaults) == Options()


def test_accepted_has_all_but_the_response_queue_which_its_message_names() -> None:
    hints = get_type_hints(Accepted.__init__)
    assert {each: hints[each] for each in HINTS if each != "reply_to"} | {"reply_to": HINTS["reply_to"]} == HINTS
    assert Options(**Accepted(ship, "o").options) == Options()


@pytest.mark.parametrize("function", [Client.submit_many, SyncClient.submit_many])
def test_submit_many_takes_the_options_type(function: Callable[..., Any]) -> None:
    assert SubmitOptions.__name__ in str(inspect.signature(function).parameters["options"].annotation)


async def test_submit_many_gives_each_task_every_option(tmp_path: Path) -> None:
    app = App("shop", workflows=[ship], store=f"sqlite:///{tmp_path / 's.db'}")
    options: SubmitOptions = {
        "priority": 7,
        "complete_by": "1h",
        "delay": timedelta(minutes=1),
        "reply_to": "replies.shop.web",
        "labels": {"tenant": "a"},
        "fairness_key": "a",
    }
    async with app.client() as client:
        many = await client.submit_many(ship, [("one",), ("two",)], ids=["1", "2"], **options)
        single = await client.submit(ship, "three", id="3", **options)
        found = [await each.status() for each in (*many, single)]
    assert {(each.priority, each.fairness_key, each.labels["tenant"]) for each in found} == {(7, "a", "a")}
    assert {round((each.deadline or 0) - each.created_at) for each in found} == {3600}
    assert {each.state for each in found} == {found[0].state}


async def test_submit_many_refuses_what_submit_refuses(tmp_path: Path) -> None:
    app = App("shop", workflows=[ship], store=f"sqlite:///{tmp_path / 's.db'}")
    async with app.client() as client:
        with pytest.raises(Refused, match="delay"):
            await client.submit_many(ship, [("one",)], complete_by="1s", delay="1h")
        with pytest.raises(Refused, match="reply"):
            await client.submit_many(ship, [("one",)], reply_to="a b")
        assert await client.tasks() == []
