"""The application of the tests of containment: workflows, steps and operations that hang or leave, each in its way."""

from __future__ import annotations

import asyncio
import contextlib
import re
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from stepward import Agent, App, Retry, Supervision, Unrecoverable, step, wait_for, workflow
from stepward.store.contract import Transaction


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


async def spin() -> None:
    while True:
        pass


async def sleep() -> None:
    time.sleep(1e6)


async def match() -> None:
    re.match(r"(a+)+$", "a" * 60 + "!")


async def done_futures() -> None:
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    future.set_result(None)
    while True:
        await future


async def interrupt() -> None:
    raise KeyboardInterrupt("typo")


async def leave() -> None:
    sys.exit("typo")


async def close() -> None:
    raise GeneratorExit("typo")


WAYS = {
    "spin": spin,
    "sleep": sleep,
    "match": match,
    "done_futures": done_futures,
    "interrupt": interrupt,
    "leave": leave,
    "close": close,
}


@workflow
async def bad(way: str) -> None:
    say(f"begins {way}")
    await WAYS[way]()


@workflow
async def good(number: int) -> int:
    return number


@workflow
async def patient() -> str:
    await wait_for("go")
    return "gone"


agent = Agent("slow", concurrency=2, retry=Retry(attempts=1))


@agent.operation(complete_by="10m")
async def block() -> None:
    time.sleep(1e6)


@step(complete_by="10m")
async def block_here() -> None:
    time.sleep(1e6)


@step(complete_by="10m", transaction=True)
async def block_in_a_transaction(transaction: Transaction) -> None:
    await transaction.execute("create table if not exists mine (id text)")
    time.sleep(1e6)


BLOCKING: dict[str, Callable[[], Awaitable[None]]] = {
    "operation": block,
    "step": block_here,
    "transaction": block_in_a_transaction,
}


@workflow
async def asking(what: str) -> None:
    await BLOCKING[what]()


@step
async def pause() -> None: ...


@workflow
async def blocking(seconds: float) -> str:
    """Blocks at each replay too, as code does that computes for long."""
    for _ in range(2):
        await pause()
        if not Path("mended").exists():
            time.sleep(seconds)
    return "back"


@agent.operation(complete_by="10m")
async def stay() -> None:
    """Swallows every cancellation."""
    say("stays")
    while True:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(1e6)


@agent.operation(complete_by="10m")
async def stay_in_a_thread() -> None:
    say("stays")
    await asyncio.to_thread(time.sleep, 1e6)


@step(complete_by="1s")
def stay_here() -> None:
    say("stays")
    time.sleep(1e6)


async def leave_beside() -> None:
    """Leaves in a task of its own, past whatever surrounds the call."""
    await asyncio.gather(leave(), asyncio.sleep(0))


async def interrupt_in_a_callback() -> None:
    def callback() -> None:
        raise KeyboardInterrupt("typo")

    loop = asyncio.get_running_loop()
    loop.call_soon(callback)
    loop.call_soon(callback)
    await asyncio.sleep(0)
    raise Unrecoverable("typo")


async def stop_the_loop() -> None:
    asyncio.get_running_loop().stop()
    await asyncio.sleep(0)
    raise Unrecoverable("typo")


ESCAPES = {"beside": leave_beside, "callback": interrupt_in_a_callback, "loop": stop_the_loop}


@agent.operation
async def escape(way: str) -> None:
    await ESCAPES[way]()


@step
async def escape_here(way: str) -> None:
    await ESCAPES[way]()


@workflow(supervision=Supervision(threshold=0))
async def escaping(where: str, way: str) -> None:
    await (escape(way) if where == "operation" else escape_here(way))


STAYING = {"coroutine": stay, "thread": stay_in_a_thread, "step": stay_here}


@workflow
async def staying(where: str) -> None:
    await STAYING[where]()


app = App("containment", workflows=[bad, good, patient, asking, blocking, staying, escaping], agents=[agent])
