"""What applications declare of submissions is checked when they declare it."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest

from stepward import Accepted, App, Message
from stepward.errors import DeclarationError, Unacceptable
from stepward.model.messages.cloudevents import CloudEvent
from stepward.store.contract import Transaction


async def accept(message: Message, transaction: Transaction) -> Accepted:
    return Accepted("fulfil")


def blocking(message: Message, transaction: Transaction) -> Accepted:
    return Accepted("fulfil")


def test_submissions_are_declared_by_queue() -> None:
    app = App("shop")
    assert len(app.submissions) == 0
    app.submission("orders", accept=accept)
    app.submission("returns.eu-1", accept=functools.partial(accept))
    assert [submission.queue for submission in app.submissions] == ["orders", "returns.eu-1"]


def test_a_queue_is_declared_once() -> None:
    app = App("shop")
    app.submission("orders", accept=accept)
    with pytest.raises(DeclarationError, match=r"submission orders: expected one declaration, found two; rename"):
        app.submission("orders", accept=accept)


@pytest.mark.parametrize("queue", ["", "a/b", "orders\n", "x" * 101, None, 7])
def test_a_queue_has_a_name(queue: Any) -> None:
    with pytest.raises(DeclarationError, match="expected a queue of 1 to 100 of A-Z a-z 0-9"):
        App("shop").submission(queue, accept=accept)


async def alone(message: Message) -> Accepted:
    return Accepted("fulfil")


async def too_many(message: Message, transaction: Transaction, *, more: int) -> Accepted:
    return Accepted("fulfil")


async def test_nothing_is_declared_once_the_app_runs(tmp_path: Path) -> None:
    app = App("shop", store=f"sqlite:///{tmp_path / 'shop.db'}")
    async with app.running():
        with pytest.raises(DeclarationError, match="found the app running"):
            app.submission("orders", accept=accept)
    app.submission("orders", accept=accept)


@pytest.mark.parametrize("wrong", [alone, too_many, blocking, lambda message, transaction: None, None, "accept"])
def test_accept_is_a_coroutine_function(wrong: Any) -> None:
    with pytest.raises(DeclarationError, match="submission orders: expected accept to be an async def"):
        App("shop").submission("orders", accept=wrong)


def test_a_message_shows_its_id_and_reads_its_data() -> None:
    message = Message(CloudEvent(id="A-1", source="/web", type="order", specversion="1.0"), tries=2)
    assert (repr(message), message.tries, message.reply_to, message.time) == ("<Message A-1>", 2, None, None)
    assert message.read() is None
    with pytest.raises(Unacceptable, match="message 'A-1': expected data that fits, found `null` instead of `int`"):
        message.read(int)
