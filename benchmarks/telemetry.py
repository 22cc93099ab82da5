"""``python -m benchmarks.telemetry [--rounds 7]``: the CPU of a step with metrics, with traces, and with neither.

Ten-step tasks on SQLite in one process. The cases alternate, and each round's figures are compared with one another, so
that what else runs on the machine counts for all of them. The collector is another process. Exits with 1 where metrics
and traces together cost more than their limit.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine
from http.server import BaseHTTPRequestHandler, HTTPServer
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from benchmarks.application import make_app
from benchmarks.loads import STEPS, median, ratio, run_ten_steps

TASKS = 1_500
WARM = 200
MOST_COST = 1.15
"""The most CPU of a step with all telemetry, as a multiple of that without."""
METRICS = "127.0.0.1:0"


class Discarding(BaseHTTPRequestHandler):
    """A collector that reads what it is sent."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Take one export."""
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *args: Any) -> None:
        """Say nothing."""


def collect(ready: Connection) -> None:
    """Serve as a collector until ended; its port goes to ``ready``."""
    server = HTTPServer(("127.0.0.1", 0), Discarding)
    ready.send(server.server_address[1])
    server.serve_forever()


async def step_seconds(folder: Path, **settings: Any) -> float:
    """CPU seconds of a step of this process, on all its threads."""
    with tempfile.TemporaryDirectory(dir=folder) as name:
        app = make_app(f"sqlite:///{name}/bench.db", **settings)
        async with app.running(), app.client() as client:
            await run_ten_steps(client, WARM)
            began = time.process_time()
            await run_ten_steps(client, TASKS)
            return (time.process_time() - began) / (TASKS * STEPS)


async def main(rounds: int, folder: Path, collector: str) -> int:
    """Measure and print; 1 if telemetry costs too much."""
    cases: dict[str, Callable[[], Coroutine[Any, Any, float]]] = {
        "off": lambda: step_seconds(folder),
        "off again": lambda: step_seconds(folder),
        "metrics": lambda: step_seconds(folder, metrics=METRICS),
        "traces": lambda: step_seconds(folder, traces=collector),
        "metrics and traces": lambda: step_seconds(folder, metrics=METRICS, traces=collector),
    }
    found: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(rounds):
        for name, case in cases.items():
            found[name].append(await case())
    cost = {name: ratio(seconds, found["off"]) for name, seconds in found.items()}
    for name, seconds in found.items():
        print(f"{name:20}{1e6 * median(seconds):8.1f} µs a step{cost[name]:8.2f}")
    return int(cost["metrics and traces"] > MOST_COST)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=collect, args=(there,), daemon=True)
    process.start()
    with tempfile.TemporaryDirectory() as place:
        code = asyncio.run(main(options.rounds, Path(place), f"http://127.0.0.1:{here.recv()}"))
    process.terminate()
    process.join()
    sys.exit(code)
