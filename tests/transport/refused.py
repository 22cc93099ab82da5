"""An application of two Agents at a broker, and the alerts about its queues."""

from __future__ import annotations

import asyncio
from pathlib import Path

from stepward import Agent, App, Client, workflow
from stepward.model.records import Alert

payments, mail = Agent("payments"), Agent("mail")


@payments.operation(complete_by="60s")
async def charge(order: str) -> str:
    return f"charge-{order}"


@mail.operation(complete_by="60s")
async def send(order: str) -> str:
    return f"sent-{order}"


@workflow
async def pay(order: str) -> str:
    return await charge(order)


@workflow
async def write(order: str) -> str:
    return await send(order)


def application(name: str, address: str, folder: Path) -> App:
    return App(
        name,
        workflows=[pay, write],
        agents=[payments, mail],
        store=f"sqlite:///{folder}/shop.db",
        transport=address,
        supervisor_every="0.1s",
    )


async def alert(client: Client, queue: str, kind: str = "queue_refused") -> Alert:
    """Wait for the alert about a queue."""
    async with asyncio.timeout(30):
        while True:
            for each in await client.alerts():
                if each.kind == kind and f"queue {queue}:" in each.message:
                    return each
            await asyncio.sleep(0.02)


async def no_alert(client: Client) -> None:
    """Wait until none is open."""
    async with asyncio.timeout(30):
        while await client.alerts():  # noqa: ASYNC110 - another actor acknowledges it
            await asyncio.sleep(0.02)
