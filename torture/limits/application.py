"""The application under torture: an Agent with a limit, whose every call is a connection to the counting service."""

from __future__ import annotations

import asyncio

from stepward import Agent, App, Supervision, current_step, workflow

LIMIT = 4
LEASE = "2s"
"""Short, so that the slots of a process that was killed come back soon."""
DEATHS = 100
"""Deaths of its owners after which a task is parked: more than a run brings about."""
CALLS = 3
"""Calls that each task makes at once."""


def application(store: str, transport: str, port: int) -> App:
    """The application; its service listens on ``port``."""
    meter = Agent("meter", concurrency=16, max_in_flight=LIMIT)

    @meter.operation(complete_by="3s")
    async def measure(number: int) -> str:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            writer.write(f"{current_step().idempotency_key}-{number}\n".encode())
            answer = await reader.readline()
        finally:
            writer.close()
        return answer.decode().strip()

    @workflow(supervision=Supervision(threshold=100))
    async def survey() -> int:
        answers = await asyncio.gather(*[measure(number) for number in range(CALLS)])
        return len(answers)

    return App(
        "limits",
        workflows=[survey],
        agents=[meter],
        store=store,
        transport=transport,
        lease=LEASE,
        drain="1s",
        recovery_limit=DEATHS,
    )
