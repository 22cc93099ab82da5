"""Actors at work until a signal: the first one drains, the second ends the process at once."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import NamedTuple

from rich.console import Console
from rich.text import Text

from stepward import durations
from stepward.app import App, Running
from stepward.cli.cells import clean, cut
from stepward.cli.logs import log_to_stderr
from stepward.cli.screen import screen
from stepward.host import tune_process
from stepward.store.address import shown

SIGNALS = (signal.SIGTERM, signal.SIGINT)
SIGNALLED = 128
LABEL = 12


class Actors(NamedTuple):
    """The actors that a process runs."""

    scheduler: bool = False
    agents: bool | tuple[str, ...] = False
    supervisor: bool = False
    submission: bool = False


def serve(app: App, actors: Actors) -> None:
    """Run these actors of the application until a signal; what they do is logged to stderr."""
    log_to_stderr(app.settings.log_level)
    tune_process()
    asyncio.run(_serve(app, actors))


async def _serve(app: App, actors: Actors) -> None:
    told = _Signals(app)
    async with app.running(**actors._asdict()) as running:
        _tell(screen(), app, _roles(app, actors))
        await _until_told(running, told.stop)
    _say("Ended in good order.")


class _Signals:
    """Hears the signals that end a process."""

    def __init__(self, app: App) -> None:
        self.stop = asyncio.Event()
        self._drain = app.settings.drain
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            loop.add_signal_handler(number, self._heard, number)

    def _heard(self, number: int) -> None:
        if self.stop.is_set():
            sys.stdout.flush()
            # Nothing is lost: what stands in the store is the truth, as after a crash.
            os._exit(SIGNALLED + number)
        self.stop.set()
        _say(f"Draining for up to {durations.text(self._drain)}; a second signal ends it at once.")


async def _until_told(running: Running, stop: asyncio.Event) -> None:
    """Wait for a signal, or for an actor that ends by a bug: then raise that."""
    working = asyncio.ensure_future(running.wait())
    stopped = asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait({working, stopped}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            working.result()
    finally:
        working.cancel()
        stopped.cancel()


def _roles(app: App, actors: Actors) -> dict[str, str]:
    served = ", ".join(f"{name}@{version}" for name, version in app.registry.workflows)
    chosen = [each for each in app.agents if actors.agents is True or (actors.agents and each.name in actors.agents)]
    every = durations.text(app.settings.supervisor_every)
    return {
        "scheduler": (served or "no workflows") if actors.scheduler else "",
        "agents": ", ".join(f"{agent.name} ×{agent.concurrency}" for agent in chosen),
        "supervisor": f"every {every}" if actors.supervisor else "",
        "submission": ", ".join(each.queue for each in app.submissions) if actors.submission else "",
    }


def _tell(console: Console, app: App, roles: dict[str, str]) -> None:
    where = {"store": shown(app.settings.store), "transport": app.settings.transport}
    console.print(Text(f"stepward runs {app.name} (process {os.getpid()})", style="bold"))
    for name, value in (where | roles).items():
        if value:
            line = cut(clean(value), console.width - LABEL - 2)
            console.print(Text.assemble("  ", (name.ljust(LABEL), "dim"), line), soft_wrap=True)
    _say("Ready; SIGTERM or ^C drains.")


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
