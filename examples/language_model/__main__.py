"""A customer asks, a person approves, and the process is killed in the middle of the refund.

    python -m examples.language_model [pydantic_ai | openai_agents]

Another process finishes the task. The books say that each turn was billed once, and that the refund was paid once.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable
from typing import Any

from examples.language_model.books import Books
from stepward import Client


async def main(library: str = "pydantic_ai") -> None:
    """Run the story in a folder of its own, and print what the books say."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["LANGUAGE_MODEL_BOOKS"] = f"{folder}/books"
        books = Books(f"{folder}/books")
        store = f"sqlite:///{folder}/desk.db"
        workers = [await started(library, store)]
        try:
            async with Client(store, app="desk") as client:
                task = await client.submit("support", "My teapot A-1 came broken.", id="question-1")
                await client.complete(await seen(books.token), True, by="grace@example.org")
                await seen(lambda: books.keys("refund asked"))
                workers[0].kill()
                workers.append(await started(library, store))
                print(await task.result(timeout="1m"))
                print("tokens:", await task.value("usage"))
        finally:
            for worker in workers:
                if worker.returncode is None:
                    worker.kill()
                await worker.wait()
        report(books)


def report(books: Books) -> None:
    """Print what was billed and paid."""
    turns, asked, paid = (books.keys(what) for what in ("turn", "refund asked", "refund paid"))
    print(f"turns billed: {len(turns)}, of which different: {len(set(turns))}")
    print(f"refund asked {len(asked)} times under {len(set(asked))} key, paid {len(paid)} time")


async def started(library: str, store: str) -> Process:
    """A process of the desk that is at work."""
    worker = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "examples.language_model.worker", library, store, stdout=PIPE
    )
    assert worker.stdout is not None
    await worker.stdout.readline()
    return worker


async def seen(look: Callable[[], Any], seconds: float = 60) -> Any:
    """What ``look`` gives once it gives something."""
    async with asyncio.timeout(seconds):
        while not (found := look()):  # noqa: ASYNC110  another process writes the file
            await asyncio.sleep(0.05)
    return found


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
