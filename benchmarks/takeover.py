"""``kill -9`` with 10,000 half-done tasks: how long until each has a new owner and its next outcome committed."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from pathlib import Path

from benchmarks.application import half, make_app
from benchmarks.looking import until

TASKS = 10_000
LEASE = 10.0


async def takeover(folder: Path) -> dict[str, float]:
    """The seconds from the kill to the last outcome, for a lease of ten seconds."""
    path = folder / "bench.db"
    victim = await _start(path, hold=True)
    app = make_app(path)
    async with app.client() as client:
        await client.submit_many(half, [(n,) for n in range(TASKS)])
        await until(path, "select count(*) from stepward_step where key = 'svc.hold/1' and state = 'running'", TASKS)
        heir = await _start(path, hold=False)
        victim.send_signal(signal.SIGKILL)
        killed_at = time.perf_counter()
        await victim.wait()
        await until(path, "select count(*) from stepward_task where state = 'processed'", TASKS)
        seconds = time.perf_counter() - killed_at
        heir.terminate()
        await heir.wait()
    return {"tasks": TASKS, "lease_s": LEASE, "all_moved_on_after_s": seconds, "beyond_lease_s": seconds - LEASE}


async def _start(path: Path, *, hold: bool) -> asyncio.subprocess.Process:
    environment = {**os.environ, "BENCH_HOLD": "1" if hold else ""}
    return await asyncio.create_subprocess_exec(sys.executable, "-m", "benchmarks.takeover", str(path), env=environment)


async def _run(path: Path) -> None:
    app = make_app(path, tasks_in_flight=2 * TASKS, lease=LEASE)
    async with app.running() as running:
        await running.wait()


if __name__ == "__main__":
    asyncio.run(_run(Path(sys.argv[1])))
