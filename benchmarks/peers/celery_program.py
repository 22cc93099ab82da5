"""Celery as a plain queue: tasks of one step, its worker with a process for each core beside this program.

Each task reports its end by a datagram, which costs less than any result backend.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from concurrent.futures import ThreadPoolExecutor

from celery import Celery

from benchmarks.peers.contract import SUBMITTING, QueueProgram, run

BROKER, REPORT = "BENCH_BROKER", "BENCH_REPORT"
"""The variables with the broker's address and the port of the datagrams."""
START_SECONDS = 30.0
BUFFER_BYTES = 8 * 2**20

app = Celery("benchmarks.peers.celery_program", broker=os.environ.get(BROKER, "amqp://"))
app.conf.update(task_ignore_result=True, worker_enable_remote_control=False, broker_connection_retry_on_startup=True)
reporting = socket.socket(type=socket.SOCK_DGRAM)


@app.task(name="act")
def act(text: str, n: int) -> dict[str, object]:
    """The step."""
    reporting.sendto(b".", ("127.0.0.1", int(os.environ[REPORT])))
    return {"ok": True, "n": n}


class Ends(asyncio.DatagramProtocol):
    """Counts the tasks that have ended."""

    def __init__(self) -> None:
        self.count = 0
        self.changed = asyncio.Event()

    def datagram_received(self, data: bytes, addr: object) -> None:
        """Count one."""
        self.count += 1
        self.changed.set()

    async def wait(self, tasks: int) -> None:
        """Return once so many have ended."""
        while self.count < tasks:
            self.changed.clear()
            await self.changed.wait()


class CeleryProgram(QueueProgram):
    """A worker process that forks as many as there are cores, which is Celery's default."""

    async def start(self) -> None:
        """Start the worker, and wait until it executes a task."""
        receiving = socket.socket(type=socket.SOCK_DGRAM)
        receiving.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
        receiving.bind(("127.0.0.1", 0))
        receiving.setblocking(False)
        _, self._ends = await asyncio.get_running_loop().create_datagram_endpoint(Ends, sock=receiving)
        os.environ.update({BROKER: self.address, REPORT: str(receiving.getsockname()[1])})
        app.conf.broker_url = self.address
        command = [sys.executable, "-m", "celery", "--app", "benchmarks.peers.celery_program", "worker"]
        options = ["--loglevel", "ERROR", "--without-gossip", "--without-mingle", "--without-heartbeat"]
        self._worker = await asyncio.create_subprocess_exec(*command, *options, stdout=asyncio.subprocess.DEVNULL)
        self._threads = ThreadPoolExecutor(SUBMITTING)
        await self.queue(0)
        async with asyncio.timeout(START_SECONDS):
            await self._ends.wait(1)

    async def stop(self) -> None:
        """Stop the worker."""
        self._worker.terminate()
        await self._worker.wait()

    async def queue(self, n: int) -> None:
        """Publish one task."""
        await asyncio.get_running_loop().run_in_executor(self._threads, act.delay, f"order {n}", n)

    async def drained(self, tasks: int) -> None:
        """Wait for the datagrams of all tasks."""
        await self._ends.wait(tasks + 1)


if __name__ == "__main__":
    run(CeleryProgram)
