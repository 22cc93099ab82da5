"""`python -m showcase`: run the order example from end to end, and verify its books."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NoReturn

from rich.console import Console

from examples.shop.node import NodeMissing
from examples.shop.processes.stage import stage_of
from servers.keeper.process import ProcessDied
from servers.keeper.programs import ProgramMissing, check_programs
from servers.keeper.transports import TRANSPORTS
from showcase.aftermath import keep, pages
from showcase.front_door import FormRefused
from showcase.plots import Plot, plot_of
from showcase.proof import Finding
from showcase.run import run
from showcase.telling import WIDTH, Teller
from showcase.waiting import Waits

LONGEST_SECONDS = 180
MOST_NAMED = 5
STOPPED = 130
MISUSED, UNREACHABLE = 2, 3
SIGNALS = (signal.SIGINT, signal.SIGTERM)


def main() -> None:
    """Read the command line and run the demo; exit 0 only if every finding holds."""
    parser = argparse.ArgumentParser(prog="python -m showcase", description=__doc__)
    parser.add_argument("--store", default="", help="sqlite or postgresql; what goes with the transport unless given")
    parser.add_argument("--transport", default="", help=f"{TRANSPORTS}; store unless given")
    plot = _plot(parser.parse_args())
    try:
        sys.exit(asyncio.run(_demo(plot)))
    except asyncio.CancelledError:
        print("Stopped; nothing of the demo is left running.", file=sys.stderr)
        sys.exit(STOPPED)


def _plot(given: argparse.Namespace) -> Plot:
    """The play of the command line; an impossible one is one error line."""
    try:
        stage = stage_of(given.store, given.transport)
        check_programs(stage.transport)
    except ValueError as error:
        _refuse(str(error), MISUSED)
    except ProgramMissing as error:
        _refuse(str(error), UNREACHABLE)
    return plot_of(stage)


def _refuse(why: str, code: int) -> NoReturn:
    print(f"demo: {why}", file=sys.stderr)
    sys.exit(code)


async def _demo(plot: Plot) -> int:
    _end_at_signals()
    teller = Teller(Console(width=WIDTH, highlight=False))
    waits = Waits()
    try:
        async with asyncio.timeout(LONGEST_SECONDS):
            with TemporaryDirectory(prefix="stepward-demo-") as folder:
                findings = await run(plot, Path(folder), teller, waits)
                kept = keep(Path(folder))
    except TimeoutError:
        return _give_up(teller, f"The demo gave up after {LONGEST_SECONDS} s, waiting for {_awaited(waits)}")
    except (NodeMissing, ProcessDied, FormRefused) as error:
        return _give_up(teller, str(error))
    code = _conclude(teller, findings)
    if kept is not None:
        command = f".venv/bin/stepward console {kept}"
        places = "\n".join(f"  {url:38}{what}" for url, what in pages())
        teller.console.print(f"Look at what happened, in a browser:\n  {command}\n{places}", soft_wrap=True)
    return code


def _conclude(teller: Teller, findings: Sequence[Finding]) -> int:
    failed = sum(not finding.holds for finding in findings)
    if failed:
        return _give_up(teller, f"{failed} of {len(findings)} findings do not hold")
    teller.console.print(f"\n[bold green]All {len(findings)} hold.[/] {teller.elapsed:.1f} s.")
    return 0


def _give_up(teller: Teller, why: str) -> int:
    teller.tell(why, "bold red")
    return 1


def _awaited(waits: Waits) -> str:
    # The latest waits are what the earlier ones wait for.
    names = waits.given_up[::-1] or ["a process to start"]
    more = f", and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


def _end_at_signals() -> None:
    """The first signal ends the demo in good order; others do not disturb that, for it is bounded."""
    task = asyncio.current_task()
    assert task is not None, "runs in a task"
    loop = asyncio.get_running_loop()

    def end() -> None:
        for number in SIGNALS:
            loop.add_signal_handler(number, int)
        task.cancel()

    for number in SIGNALS:
        loop.add_signal_handler(number, end)


if __name__ == "__main__":
    main()
