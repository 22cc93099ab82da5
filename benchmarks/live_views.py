"""``python -m benchmarks.live_views [--rounds 9] [--store sqlite|postgresql]``: a Scheduler's throughput while pages of
the console are open, as a part of that while none is.

Ten-step tasks in one process; the console is another process, and a third one does what browsers do that show the
start page, the list of tasks and a task of 1,000 steps: each follows its stream of changes, and is redrawn as the
console's script does it. Rounds with and without alternate on one store. Exits with 1 where the views
cost more than their limit.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.sharedctypes import Synchronized
from multiprocessing.synchronize import Event
from pathlib import Path
from urllib.parse import quote

import httpx

from benchmarks.application import act, service, ten
from benchmarks.catalogue import STORES
from benchmarks.loads import median, ratio, run_ten_steps
from benchmarks.store_locations import Place
from stepward import App, workflow

TASKS = 6_000
WARM = 300
STEPS = 1_000
VIEWED = "viewed"
PAGES = {"/": "/live", "/tasks": "/live", f"/tasks/{VIEWED}": f"/live?task={quote(VIEWED)}"}
"""The pages that are open, each with its stream of changes."""
LEAST_THROUGHPUT = 0.98
"""The least throughput with open pages, as a part of that without."""
SHARE, LONGEST_PAUSE = 50, 5.0
"""The script's: a page pauses so many times as long as its drawing took, up to so many seconds."""
PATIENCE = 60.0


@workflow()
async def long(number: int) -> int:
    """The task whose page is open."""
    return len(await asyncio.gather(*(act("row", n) for n in range(number))))


async def measured(place: Place, rounds: int) -> dict[str, float]:
    """The medians of both throughputs and of the rounds' ratios, and how often pages were drawn."""
    address = await place.fresh()
    app = make_app(address)
    rates: dict[bool, list[float]] = {True: [], False: []}
    async with app.running(), app.client() as client:
        await (await client.submit(long, STEPS, id=VIEWED)).result(timeout=PATIENCE)
        await run_ten_steps(client, WARM)
        with console_of(address) as url, viewers(url) as views:
            for number in range(rounds):
                for is_viewed in (True, False) if number % 2 else (False, True):
                    await views.open(is_viewed)
                    rates[is_viewed].append(TASKS / await run_ten_steps(client, TASKS))
            drawn = views.drawn.value
    return {
        "tasks_per_s_without": median(rates[False]),
        "tasks_per_s_with": median(rates[True]),
        "throughput": ratio(rates[True], rates[False]),
        "pages_drawn": drawn,
    }


def make_app(address: str) -> App:
    """The measured application, with the workflow of the long task."""
    return App("bench", workflows=[ten, long], agents=[service], store=address)


@contextmanager
def console_of(address: str) -> Iterator[str]:
    """The console over that store, as a process of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "stepward", "console", address, "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            url = f"http://127.0.0.1:{port}"
            _await(url, process)
            yield url
        finally:
            process.terminate()


def _await(url: str, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and process.poll() is None:
        try:
            httpx.get(f"{url}/livez")
        except httpx.TransportError:
            time.sleep(0.1)
        else:
            return
    raise SystemExit(f"live views: expected a console at {url} within {PATIENCE:.0f} s, found none")


class Viewers:
    """The process of the browsers, whose pages are open or closed."""

    def __init__(self, shown: Event, drawn: Synchronized[int]) -> None:
        self._shown = shown
        self.drawn = drawn
        """How often a page was fetched."""

    async def open(self, is_shown: bool) -> None:
        """Open all pages, or close them; returns once each was drawn, or none is."""
        if is_shown == self._shown.is_set():
            return
        until, drawn = time.monotonic() + PATIENCE, self.drawn.value + len(PAGES)
        (self._shown.set if is_shown else self._shown.clear)()
        while is_shown and self.drawn.value < drawn and time.monotonic() < until:  # noqa: ASYNC110  of another process
            await asyncio.sleep(0.02)


@contextmanager
def viewers(url: str) -> Iterator[Viewers]:
    """Browsers that show nothing yet."""
    context = multiprocessing.get_context("spawn")
    shown, drawn = context.Event(), context.Value("l", 0)
    process = context.Process(target=_browse, args=(url, shown, drawn), daemon=True)
    process.start()
    try:
        yield Viewers(shown, drawn)
    finally:
        process.terminate()
        process.join()


def _browse(url: str, shown: Event, drawn: Synchronized[int]) -> None:
    asyncio.run(_browse_all(url, shown, drawn))


async def _browse_all(url: str, shown: Event, drawn: Synchronized[int]) -> None:
    async with httpx.AsyncClient(base_url=url, timeout=PATIENCE) as client:
        while True:
            await asyncio.to_thread(shown.wait)
            tabs = [asyncio.ensure_future(_tab(client, page, live, drawn)) for page, live in PAGES.items()]
            while shown.is_set():  # noqa: ASYNC110  an event of another process
                await asyncio.sleep(0.05)
            for tab in tabs:
                tab.cancel()
            await asyncio.gather(*tabs, return_exceptions=True)


async def _tab(client: httpx.AsyncClient, page: str, live: str, drawn: Synchronized[int]) -> None:
    """One page: drawn at once, and again after changes."""
    pause = await _draw(client, page, drawn)
    async with client.stream("GET", live, headers={"accept": "text/event-stream"}) as stream:
        async for line in stream.aiter_lines():
            if line == "event: changed":
                await asyncio.sleep(pause)
                pause = await _draw(client, page, drawn)


async def _draw(client: httpx.AsyncClient, page: str, drawn: Synchronized[int]) -> float:
    """Fetch the page; the seconds until it may be fetched again."""
    began = time.perf_counter()
    (await client.get(page)).raise_for_status()
    with drawn.get_lock():
        drawn.value += 1
    return min(LONGEST_PAUSE, SHARE * (time.perf_counter() - began))


def main() -> int:
    """Read the command line, measure and print; 1 if the views cost too much."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--store", choices=sorted(STORES), default="sqlite")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="stepward-bench-") as folder, STORES[asked.store].place(Path(folder)) as at:
        found = asyncio.run(measured(at, asked.rounds))
    for name, value in found.items():
        print(f"{name:22}{value:10.3f}")
    return int(found["throughput"] < LEAST_THROUGHPUT)


if __name__ == "__main__":
    sys.exit(main())
