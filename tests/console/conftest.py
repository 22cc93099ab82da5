from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from stepward import (
    Agent,
    App,
    Client,
    Retry,
    Supervision,
    TaskHandle,
    Unrecoverable,
    publish,
    stream,
    wait_for,
    wait_for_update,
    workflow,
)
from tests.console.browsing import address, browser
from tests.http.conftest import bearer, client, local, remote, token_for

__all__ = ["address", "browser", "client", "local", "remote"]

EVIL = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>{{7*7}}</textarea>\u202e\x1b"
"""Text that acts where it is not escaped: as markup, as an attribute, as a template, as a control character."""

payment = Agent("payment", retry=Retry(attempts=1))
parcel = Agent("parcel")
quick = Supervision(threshold=0)


class Bank:
    """The service that payments go to, as a test has it."""

    def __init__(self) -> None:
        self.is_mended = False
        self.is_held = False
        self.running = 0
        """Calls that have begun and not ended."""
        self.answers = asyncio.Event()


bank = Bank()


@payment.operation(complete_by="60s")
async def charge(card: str) -> str:
    bank.running += 1
    try:
        if bank.is_held:
            await bank.answers.wait()
    finally:
        bank.running -= 1
    if card == "good" or bank.is_mended:
        return "charged secret-4711"
    raise Unrecoverable(f"card {card} was refused")


@charge.undo
async def refund(result: str | None, card: str) -> None:
    pass


@parcel.operation(complete_by="20s")
async def send(address: str) -> str:
    return f"parcel to {address}"


@send.undo
async def fetch_back(result: str | None, address: str) -> None:
    pass


@workflow(supervision=quick)
async def fulfil(card: str) -> str:
    await send("1 Main Street")
    return await charge(card)


@workflow
async def approval() -> Any:
    return await wait_for("approved")


def positive(amount: int) -> None:
    if amount <= 0:
        raise ValueError(f"expected more than 0, found {amount}")


@workflow
async def account() -> int:
    paid = await wait_for_update("pay", type=int, validator=positive)
    paid.accept()
    return paid.value


@workflow
async def narrate() -> str:
    publish("progress", {"done": 1, "of": 2})
    stream("lines").write("the first line")
    await wait_for("go")
    publish("progress", {"done": 2, "of": 2})
    stream("lines").write(f"the second line {EVIL}")
    await wait_for("end")
    return "done"


@workflow
async def many(number: int) -> int:
    return len(await asyncio.gather(*[send(str(each)) for each in range(number)]))


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[App]:
    """An application at work."""
    store = f"sqlite:///{tmp_path}/shop.db"
    app = App("shop", workflows=[fulfil, approval, account, narrate, many], agents=[payment, parcel], store=store)
    async with app.running():
        yield app


@pytest.fixture
def the_bank() -> Iterator[Bank]:
    """The bank; what a test makes of it ends with the test."""
    vars(bank).update(vars(Bank()))
    yield bank
    vars(bank).update(vars(Bank()))


SignedIn = Callable[..., Awaitable[dict[str, str]]]


@pytest.fixture
async def signed_in(client: Client) -> SignedIn:
    """Makes a token; the headers that send it."""

    async def make(role: str, **more: Any) -> dict[str, str]:
        return bearer(await token_for(client, role, role, **more))

    return make


@pytest.fixture
async def failed(client: Client) -> TaskHandle:
    """A task in error: a step failed for good."""
    task = await client.submit("fulfil", "bad", id="order-1", labels={"customer": "alice"})
    with pytest.raises(Exception, match="refused"):
        await task.result(timeout=30)
    return task


@pytest.fixture
async def done(client: Client) -> TaskHandle:
    """A task that is processed."""
    task = await client.submit("fulfil", "good", id="order-2")
    await task.result(timeout=30)
    return task
