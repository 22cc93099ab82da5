"""Actors at work until a signal: the first one drains, the second ends the process at once."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from rich.console import Console
from rich.text import Text

from stepward import durations
from stepward.app import App
from stepward.cli.output.terminal import screen
from stepward.cli.output.text_width import cut
from stepward.cli.processes.bounded_exit import bounded_stop, last_words
from stepward.cli.processes.event_loop import run_to_end
from stepward.cli.processes.logs import log_to_stderr
from stepward.cli.processes.parent_link import ParentLink
from stepward.cli.processes.signals import ProcessSignals
from stepward.host import tune_process
from stepward.running import Running
from stepward.runtime.interrupts import write_at_once
from stepward.settings import Settings
from stepward.store.address import shown
from stepward.views.printable import clean

LABEL = 12


class Actors(NamedTuple):
    """The actors that a process runs."""

    scheduler: bool = False
    agents: bool | tuple[str, ...] = False
    supervisor: bool = False
    submission: bool = False
    partitions: bool | tuple[str, ...] = True
    """Of several stores those that are served; True: all."""


EVERY_ACTOR = Actors(scheduler=True, agents=True, supervisor=True, submission=True)


def serve(app: App, actors: Actors) -> None:
    """Run these actors of the application until a signal; their events are logged to stderr."""
    log_to_stderr(app.settings)
    tune_process()
    run_to_end(_serve(app, actors))


def serve_tethered(app: App, actors: Actors, tether: ParentLink) -> None:
    """The same as a child of a group, which reports on stdout about this process."""
    log_to_stderr(app.settings, process=tether.number)
    tune_process()
    run_to_end(_serve_tethered(app, actors, tether))


def patience(settings: Settings) -> float:
    """Seconds within which a process that is asked to end must be gone: after its lease it can do no more."""
    return settings.drain + settings.lease


def header(app: App, actors: Actors, more: dict[str, str]) -> None:
    """Print what runs here."""
    _print_roles(screen(), app, _roles(app, actors) | more)


def say(line: str) -> None:
    """Write a line to stdout at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def say_draining(settings: Settings) -> None:
    """Print what the first signal begins, whatever hangs."""
    write_at_once(sys.stdout, f"Draining for up to {durations.text(settings.drain)}; a second signal ends it at once.")


async def _serve(app: App, actors: Actors) -> None:
    with bounded_stop(patience(app.settings)) as ends:
        # From the signal on, which may come while the application starts, or closes after a start that failed.
        signals = ProcessSignals(on_first=lambda: say_draining(app.settings), begun=ends)
        async with app.running(**actors._asdict()) as running:
            header(app, actors, {})
            say("Ready; SIGTERM or ^C drains.")
            if await _until_stopped(running, signals.stop, ends):
                say_draining(app.settings)
    say(last_words())


async def _serve_tethered(app: App, actors: Actors, tether: ParentLink) -> None:
    loop = asyncio.get_running_loop()
    with bounded_stop(patience(app.settings)) as ends:
        signals = ProcessSignals(begun=ends)

        def cut_off() -> None:
            with suppress(RuntimeError):  # The loop is closed already.
                loop.call_soon_threadsafe(signals.drain)

        tether.hold(cut_off, patience(app.settings))
        async with app.running(**actors._asdict()) as running:
            tether.ready()
            if await _until_stopped(running, signals.stop, ends):
                tether.drained()


async def _until_stopped(running: Running, stop: asyncio.Event, ends: Callable[[], None]) -> bool:
    """Wait for a signal, an operator's drain, or an actor that ends by a bug: then raise that exception.

    True after a drain.
    """
    working = asyncio.ensure_future(running.wait())
    stopped = asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait({working, stopped}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            working.result()
        return not stop.is_set()
    finally:
        ends()
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
        "partitions": "" if isinstance(actors.partitions, bool) else ", ".join(actors.partitions),
        "submission": ", ".join(each.queue for each in app.submissions) if actors.submission else "",
    }


def _print_roles(console: Console, app: App, roles: dict[str, str]) -> None:
    where = {"store": ", ".join(map(shown, app.settings.stores)), "transport": app.settings.shown("transport")}
    console.print(Text(f"stepward runs {app.name} (process {os.getpid()})", style="bold"))
    for name, value in (where | roles).items():
        if value:
            line = cut(clean(value), console.width - LABEL - 2)
            console.print(Text.assemble("  ", (name.ljust(LABEL), "dim"), line), soft_wrap=True)
