"""The application of the tests of queues: a submission that takes orders, and refuses some in hostile words."""

from __future__ import annotations

from stepward import Accepted, App, Message, Unacceptable, workflow
from stepward.store.contract import Transaction

HOSTILE = "refused by \x1b[31mthe office\x1b[0m\r\n of 日本"


@workflow()
async def fulfil(what: str) -> str:
    return f"{what} sent"


async def accept(message: Message, transaction: Transaction) -> Accepted:
    what = message.read(str)
    if what == "nothing":
        raise Unacceptable(HOSTILE)
    return Accepted(fulfil, what)


app = App("office", workflows=[fulfil])
app.submission("orders", accept=accept)
app.submission("returns", accept=accept)
