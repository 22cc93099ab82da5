"""What proofs of messages, checks of what comes in, and clean sessions cost together.

Rounds with them and without, in turn, in one process and on one store, so that both meet the same machine.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from typing import Any
from unittest.mock import patch

import asyncpg

from benchmarks.application import act, make_app, service, ten
from benchmarks.loads import AT_ONCE, concurrently, ratio
from benchmarks.store_locations import Place
from servers import nats
from stepward import App, Client, step, workflow
from stepward.client.submitting import submission_checks
from stepward.model.messages.signing import Signer
from stepward.payload import encoding
from stepward.store import transaction_scopes
from stepward.store.postgres.engine.connecting.session_reset import Use
from stepward.store.postgres.engine.connection import Connection

ROUNDS = 9
TASKS = 1_024
BOOKED = "create table public.booking (what text)"
BOOK = "insert into public.booking values ($1)"
LABELS = {"customer": "anna@example.org", "channel": "web shop"}
SCHEDULER = {"agents": False, "submission": False}
AGENTS = {"scheduler": False, "supervisor": False, "submission": False}

Figures = dict[str, float]
Load = Callable[[Client, int], Awaitable[float]]


@step(transaction=True)
async def book(transaction: Any, what: str) -> None:
    """A row of the application's, which commits with the outcome of the step."""
    await transaction.execute(BOOK, [what])


@workflow
async def booked(text: str) -> None:
    """Ten steps, of which two are transactions of the application."""
    await book(text)
    for n in range(8):
        await act(text, n)
    await book(text)


async def safeguards(place: Place, *, rounds: int = ROUNDS, tasks: int = TASKS) -> Figures:
    """Throughput and CPU of both loads with the safeguards, as parts of those without: medians of the rounds' ratios.

    On PostgreSQL a task is submitted in a transaction with a row, and two of its ten steps are transactions; over NATS
    the ten requests and replies of a task go through the broker.
    """
    address = await place.fresh()
    connection = await asyncpg.connect(address)
    await connection.execute(BOOKED)
    await connection.close()
    app = App("bench", workflows=[booked], agents=[service], store=address)
    async with app.running(), app.client() as client:
        on_postgresql = await _compared(place, client, _in_transactions, "postgresql", rounds, tasks)
    with nats.running() as node:
        async with _over(await place.fresh(), node.address) as client:
            return on_postgresql | await _compared(place, client, _through_the_broker, "nats", rounds, tasks)


@asynccontextmanager
async def _over(address: str, broker: str) -> AsyncIterator[Client]:
    """A client of a Scheduler and an Agent with a broker between."""
    app, elsewhere = (make_app(address, transport=broker) for _ in range(2))
    async with app.running(**SCHEDULER), elsewhere.running(**AGENTS), app.client() as client:
        yield client


async def _compared(place: Place, client: Client, load: Load, name: str, rounds: int, tasks: int) -> Figures:
    await load(client, tasks // 4)
    rates: dict[bool, list[float]] = {True: [], False: []}
    used: dict[bool, list[float]] = {True: [], False: []}
    for number in range(rounds):
        # Whichever comes first in a round would have the younger store.
        for is_guarded in (True, False) if number % 2 else (False, True):
            with ExitStack() as stack:
                if not is_guarded:
                    stack.enter_context(unguarded())
                before = time.process_time() + place.server_seconds()
                rates[is_guarded].append(tasks / await load(client, tasks))
                used[is_guarded].append(time.process_time() + place.server_seconds() - before)
    return {
        f"{name}_tasks_per_s": sorted(rates[True])[rounds // 2],
        f"{name}_throughput": ratio(rates[True], rates[False]),
        f"{name}_cpu": ratio(used[True], used[False]),
    }


async def _in_transactions(client: Client, tasks: int) -> float:
    async def one(n: int) -> None:
        async with client.transaction() as transaction:
            await transaction.execute(BOOK, [f"order {n}"])
            handle = await client.submit(booked, f"order {n}", labels=LABELS, transaction=transaction)
        await handle.result()

    return await concurrently(AT_ONCE, tasks, one)


async def _through_the_broker(client: Client, tasks: int) -> float:
    async def one(n: int) -> None:
        await (await client.submit(ten, f"order {n}", labels=LABELS)).result()

    return await concurrently(AT_ONCE, tasks, one)


@contextmanager
def unguarded() -> Iterator[None]:
    """No proofs, no checks, and sessions as the application left them."""

    async def end(connection: Connection, how: str) -> str:
        connection.use = Use.NONE
        return await connection.run(how)

    with ExitStack() as stack:
        for owner, name, instead in (
            (Signer, "proof", lambda *_: "0" * 32),
            (Signer, "is_genuine", lambda *_: True),
            (encoding, "is_deeper", lambda *_: False),
            (submission_checks, "_check_text", lambda *_: None),
            (transaction_scopes.Scope, "check", lambda _: None),
            (transaction_scopes, "refuse_nested", lambda _: None),
            (Connection, "end", end),
        ):
            stack.enter_context(patch.object(owner, name, instead))
        yield
