"""Workflow code that hangs, and the thread that watches the loop of its process (S34)."""

from __future__ import annotations

from collections import Counter
from contextvars import Context

from simulation.environment.loop import SimulationLoop
from simulation.environment.process import SimulatedProcess
from simulation.invariants.history import Mirror
from simulation.trace import HANG, Trace
from stepward.errors import StoreError

HANG_LEASES = 1.5
"""Leases after which a process that hangs is ended; its hang is counted after one."""
MOST_HANGS = 3
"""One is counted while the next process hangs already, and the second may be so too."""


class Hangs:
    """Counts the hangs of each task as the watching thread does, and ends the process."""

    def __init__(self, loop: SimulationLoop, trace: Trace, mirror: Mirror, lease: float) -> None:
        self._loop = loop
        self._trace = trace
        self._mirror = mirror
        self._lease = lease
        self._hung: Counter[str] = Counter()
        self._uncounted: Counter[str] = Counter()
        """Hangs of each task that the thread which watches the loop is still to count."""

    def hang(self, task: str, process: SimulatedProcess, office: SimulatedProcess) -> None:
        """Code of ``task`` never gives the loop of ``process`` back; ``office`` writes the count."""
        # What watches the loop goes by this process's own clock, too.
        seconds = self._lease * HANG_LEASES / process.lane.rate
        self._check(task, process, seconds)
        process.lane.parked = True  # It would not end otherwise: its workflow code stands in the middle.
        self._loop.call_later(self._lease, self._count, process, task, office, context=Context())
        self._loop.stall(seconds)
        process.die()

    def _check(self, task: str, process: SimulatedProcess, seconds: float) -> None:
        """S34: code that hangs takes few processes down, until an operator has it tried again."""
        self._trace.fault(HANG, process.name, task, seconds)
        self._hung[task] += 1
        again = self._mirror.resubmitted(task)
        # A process whose clock is fast frees the task before the watching thread of a slow one has counted.
        if self._hung[task] - self._uncounted[task] > MOST_HANGS * (1 + again):
            self._trace.violated("S34", f"{task} hung {self._hung[task]} times")
        self._uncounted[task] += 1

    def _count(self, process: SimulatedProcess, task: str, office: SimulatedProcess) -> None:
        self._uncounted[task] -= 1
        if not process.dead:
            office.run(self._counted(process, task, office))

    async def _counted(self, process: SimulatedProcess, task: str, office: SimulatedProcess) -> None:
        """What the thread does that watches a loop; a hang that it cannot count is none for the task."""
        instances = process.instances
        try:
            count = await office._real.host.count_hang(task, instances[0] if instances else "host", "simulated")
        except StoreError as error:
            self._hung[task] -= 1
            self._trace.note("hang not counted", process.name, task, str(error))
        else:
            self._trace.note("hang counted", process.name, task, count)
