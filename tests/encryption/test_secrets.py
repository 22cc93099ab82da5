"""Secrets: applications read them; no log, page, command, API, error or ``repr`` shows them."""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from stepward import Agent, App, Client, Secret, StepFailed, Unrecoverable, step, workflow
from stepward.errors import InvalidArguments, Refused
from stepward.payload import Signature, displayed
from stepward.payload.secret_values import MASK, encode_custom, holds_secrets, marked
from tests.cli.processes import asked
from tests.encryption.shop import is_in, until

CARD = "4111-canary-1111"
bank = Agent("bank")


class Order(Struct):
    number: int
    card: Secret[str]


@dataclass
class Wrapped:
    orders: list[Order]


@bank.operation()
async def pay(order: Order, pin: Secret[int]) -> Secret[str]:
    assert (order.card.reveal(), pin.reveal()) == (CARD, 91827364)
    return Secret(f"receipt of {order.card.reveal()}")


@bank.operation()
async def refuse(card: Secret[str]) -> None:
    raise Unrecoverable(f"no account for {card}", card=card)


@step()
def sent(receipt: Secret[str]) -> str:
    return receipt.reveal()[:7]


@workflow
async def buy(order: Order, pin: Secret[int]) -> str:
    receipt = await pay(order, pin)
    try:
        await refuse(order.card)
    except StepFailed:
        return str(await sent(receipt))
    return ""


@workflow
async def failing(card: Secret[str]) -> None:
    await refuse(card)


def application(folder: Path) -> App:
    return App("bank", workflows=[buy, failing], agents=[bank], store=f"sqlite:///{folder / 'bank.db'}")


async def at_work(folder: Path) -> None:
    app = application(folder)
    async with app.running(), app.client() as client:
        order = Order(7, Secret(CARD))
        assert await (await client.submit(buy, order, Secret(91827364), id="bought")).result(timeout=20) == "receipt"
        await client.submit(failing, CARD, id="failed")  # type: ignore[arg-type]
        await until(lambda: is_in(client, "failed", "error"))
        async with Client(app.settings.store, app="bank") as bare:
            # Without the application's code the registered schema says what is a secret.
            await bare.submit("buy", {"number": 8, "card": CARD}, 91827364, id="bare", delay="1h")
            records: list[Any] = [await client.task(id).steps() for id in ("bought", "failed", "bare")]
            records += [(await client.task(id).status()).error for id in ("bought", "failed", "bare")]
        assert CARD not in repr(records)
        assert MASK in repr(records)


def test_secrets_are_in_no_log_and_no_command(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "stepward")
    asyncio.run(at_work(tmp_path))
    store = f"sqlite:///{tmp_path / 'bank.db'}"
    texts = [caplog.text]
    for task in ("bought", "failed", "bare"):
        for command in ("show", "steps"):
            texts += [asked(tmp_path, command, task, "--store", store).stdout]
            texts += [asked(tmp_path, command, task, "--store", store, "--json").stdout]
    texts += [asked(tmp_path, "alerts", "--store", store, "--json").stdout]
    assert all(text for text in texts)
    assert [text for text in texts if CARD in text or "91827364" in text] == []


async def test_arguments_that_an_operator_edits_stay_secret(tmp_path: Path) -> None:
    app = application(tmp_path)
    async with app.running(), app.client() as client:
        await client.submit(failing, CARD, id="failed")  # type: ignore[arg-type]
        await until(lambda: is_in(client, "failed", "error"))
        async with Client(app.settings.store, app="bank") as bare:
            handle = bare.task("failed")
            with pytest.raises(Refused, match="found the asterisks that stand for it"):
                await handle.resubmit(input=[MASK])
            await handle.resubmit(input=["4222-canary"])
        await until(lambda: is_in(client, "failed", "error"))
        (refused,) = [each for each in await client.task("failed").steps() if each.set_aside_at is None]
    assert (refused.input, refused.generation) == ([MASK], 1)


def test_a_secret_does_not_show_itself() -> None:
    secret = Secret(CARD)
    assert [repr(secret), str(secret), f"{secret}", f"{secret!r}"] == [
        f"Secret('{MASK}')",
        MASK,
        MASK,
        f"Secret('{MASK}')",
    ]
    assert (secret.reveal(), secret == Secret(CARD), secret == CARD) == (CARD, True, False)
    assert len({secret, Secret(CARD)}) == 1


def plain(number: int) -> Any:
    return {"number": number, "card": CARD}


def test_plain_arguments_for_secrets_are_recorded_as_secrets() -> None:
    def fn(order: Order, pin: Secret[int], note: str = "") -> None: ...

    signature = Signature(fn, "buy")
    data = signature.pack((plain(1), 91827364), {})
    assert json.loads(data) == [{"number": 1, "card": {"stepward.secret": CARD}}, {"stepward.secret": 91827364}, ""]
    assert signature.unpack(data)[0] == (Order(1, Secret(CARD)), Secret(91827364), "")
    assert displayed(data) == [{"number": 1, "card": MASK}, MASK, ""]
    with pytest.raises(InvalidArguments, match="expected"):
        signature.pack((plain(1), "no number"), {})


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (Secret[str], True),
        (list[Secret[str]], True),
        (Order, True),
        (Wrapped, True),
        (str, False),
        (dict[str, int], False),
    ],
)
def test_types_with_secrets_are_found(kind: Any, expected: bool) -> None:
    assert holds_secrets(kind) is expected


def test_plain_values_are_marked_by_the_schema() -> None:
    def fn(orders: list[Order], pin: Secret[int]) -> None: ...

    schema = Signature(fn, "buy").schema()
    array = schema["$defs"][schema["$ref"].rpartition("/")[2]]
    given = [[{"number": 1, "card": "a"}, {"number": 2, "card": {"stepward.secret": "b"}}], 5]
    cards = [{"number": 1, "card": {"stepward.secret": "a"}}, {"number": 2, "card": {"stepward.secret": "b"}}]
    assert marked(given, array, schema["$defs"]) == [cards, {"stepward.secret": 5}]


def test_what_is_no_secret_is_refused_as_before() -> None:
    with pytest.raises(TypeError, match="unsupported"):
        encode_custom(object())
