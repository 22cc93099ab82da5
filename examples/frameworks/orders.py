"""The application that the services submit to."""

from __future__ import annotations

from stepward import Agent, App, Supervision, stream, workflow

payments = Agent("payments")


@payments.operation(complete_by="10s")
async def charge(order: str, cents: int) -> str:
    return f"charge-{order}-{cents}"


@workflow(supervision=Supervision(then="undo"))
async def fulfil(order: str, cents: int) -> str:
    stream("progress").write({"step": "charge", "done": 0, "of": 1})
    charge_id = await charge(order, cents)
    stream("progress").write({"step": "charge", "done": 1, "of": 1})
    return charge_id


def make_app(store: str | None = None) -> App:
    """The application, on the store of the settings if none is named."""
    return App("shop", workflows=[fulfil], agents=[payments], store=store)
