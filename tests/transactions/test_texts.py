"""Texts from outside that PostgreSQL would stumble over: refused in one line, and no listing is broken."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from stepward import Client
from stepward.errors import Refused, StepwardError
from tests.store.postgres.worlds import Database
from tests.transactions.application import order

pytestmark = pytest.mark.servers

Use = Callable[[Client, str], Coroutine[Any, Any, Any]]
TEXTS = ["a\0b", "a\x1b[2Jb", "a\u009bb", "a\udc80b"]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize(
    "submit",
    [
        lambda client, text: client.submit(order, "pen", labels={"customer": text}),
        lambda client, text: client.submit(order, "pen", labels={text: "a"}),
        lambda client, text: client.submit(order, "pen", fairness_key=text),
        lambda client, text: client.submit_many(order, [("pen",)], labels={"customer": text}),
        lambda client, text: client.suspend_agent("payments", text),
        lambda client, text: client.tasks(label=("customer", text)),
        lambda client, text: client.tasks(workflow=text),
    ],
)
async def test_a_text_with_control_characters_is_refused_at_the_door(client: Client, submit: Use, text: str) -> None:
    with pytest.raises(Refused, match="expected no control characters, found"):
        await submit(client, text)
    assert await client.tasks(label=("customer", "a")) == []


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize(
    "use",
    [
        lambda client, text: client.task(text).status(),
        lambda client, text: client.task(text).cancel(),
        lambda client, text: client.task(text).steps(),
        lambda client, text: client.task(text).signal("approve"),
        lambda client, text: client.submit(text),
        lambda client, text: client.suspend_agent(text),
        lambda client, text: client.pause_schedule(text),
        lambda client, text: client.fail(text, "because"),
        lambda client, text: client.submit(order, "pen", attributes={"customer": text}),
        lambda client, text: client.submit(order, "pen", attributes={text: "a"}),
        lambda client, text: client.tasks(where=f"customer = '{text}'"),
        lambda client, text: client.task(text).value("total"),
        lambda client, text: client.task(text).events().__anext__(),
        lambda client, text: client.delete("state = 'processed'", reason=text),
        lambda client, text: client.set_limit(f"agent:{text}", 3),
        lambda client, text: client.create_schedule(text, order, ("pen",), every="1h"),
        lambda client, text: client.trigger_schedule(text),
        lambda client, text: client.alert_sinks.test(text),
    ],
)
async def test_a_name_with_control_characters_is_answered_in_one_line(client: Client, use: Use, text: str) -> None:
    with pytest.raises(StepwardError) as raised:
        await use(client, text)
    assert str(raised.value).isprintable()


async def test_a_label_that_an_older_version_let_in_breaks_no_listing(client: Client, database: Database) -> None:
    await client.submit(order, "pen", id="old", labels={"customer": "x"})
    await client.submit(order, "pen", id="new", labels={"customer": "a"})
    await database.run(
        "update stepward_shop.task set labels = convert_to('{\"customer\":\"a\\u0000\"}', 'UTF8') where id = 'old'"
    )
    assert [task.id for task in await client.tasks(label=("customer", "a"))] == ["new"]
    assert len(await client.tasks()) == 2
