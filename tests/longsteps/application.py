"""An application with long steps, whose code says in a file what it does; run as a program, it is one of its Agents.

``python -m tests.longsteps.application STORE TRANSPORT APP FOLDER NAME`` prints each event's name.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

from stepward import Agent, App, Retry, Supervision, current_step, workflow
from stepward.events import Event

LEASE = "1s"
LOOK = 0.05
HURRY = 3.0


def application(store: str, transport: str, name: str, folder: Path, instance: str) -> App:
    """The application as the process of that name runs it."""
    bank = Agent("bank", retry=Retry(attempts=1))

    def say(what: str) -> None:
        with (folder / "said").open("a") as file:
            file.write(f"{what} {instance} {current_step().idempotency_key} {current_step().attempt}\n")

    @bank.operation(complete_by="4h")
    async def transfer() -> str:
        say("began")
        count = 0
        while not (folder / "go").exists():
            count += 1
            current_step().heartbeat({"by": instance, "looks": count})
            await asyncio.sleep(LOOK)
        # The effect comes after a look whether it is still this instance's to bring about.
        current_step().heartbeat()
        say("acted")
        return instance

    @bank.operation(complete_by="4h")
    async def reserve() -> str:
        say("began")
        await asyncio.sleep(4 * 3600)
        return instance

    @reserve.undo
    async def release(result: str | None) -> None:
        say("undid")

    @workflow(supervision=Supervision(then="alert"))
    async def hurry() -> str:
        try:
            async with asyncio.timeout(HURRY):
                return await reserve()
        except TimeoutError:
            return "too slow"

    @workflow(supervision=Supervision(then="alert"))
    async def pay() -> str:
        return await transfer()

    return App(
        name,
        workflows=[pay, hurry],
        agents=[bank],
        store=store,
        transport=transport,
        lease=LEASE,
        poll="100ms",
        drain="2s",
    )


async def main(store: str, transport: str, name: str, folder: str, instance: str) -> None:
    app = application(store, transport, name, Path(folder), instance)

    def tell(event: Event) -> None:
        sys.stdout.write(f"{event.name}\n")
        sys.stdout.flush()

    app.observers.add(tell)
    over = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, over.set)
    async with app.running(scheduler=False, supervisor=False):
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        await over.wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
