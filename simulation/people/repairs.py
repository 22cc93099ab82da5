"""Operators who mend tasks in error: they resubmit, edit inputs, give results, and say what they know of the doubt."""

from __future__ import annotations

import random

from simulation.environment.world import PROGRAMS, World
from simulation.invariants.watched_rows import StepRow, TaskRow
from stepward.client import session_of
from stepward.errors import Refused, StoreError
from stepward.model.states import StepState, TaskState
from stepward.store.contract import Directive, Doubt, Later

EDITED = 100_000
"""What an edited input adds to the amount, so that it differs from every other."""
AMOUNTS = frozenset({"pay.charge", "pay.note", "ship.send", "mail.post", "local", "booked"})
"""Steps whose one argument is an amount."""


class Menders:
    """Act at random instants, on tasks in error and now and then on others."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._chance = random.Random(f"{world.seed}/menders")

    def come(self, seconds: float) -> None:
        """Plan the repairs of so many seconds, and of a while after the faults."""
        every = self._world.rates.repair_every
        at = self._chance.expovariate(1 / every) if every else 2 * seconds
        while at < 2 * seconds:
            self._world.plan(at, self._mend)
            at += self._chance.expovariate(1 / every)

    async def _mend(self) -> None:
        rows = [task for task in self._world.mirror.tasks.values() if not task.id.startswith(PROGRAMS)]
        broken = [task for task in rows if task.state == TaskState.ERROR]
        if not rows:
            return
        task = self._chance.choice(broken if broken and self._chance.random() < 0.9 else rows)
        directive = self._directive(task)
        try:
            await session_of(self._world.office.client).direct(task.id, directive)
        except (Refused, StoreError) as error:
            self._world.trace.note("not mended", task.id, type(error).__name__, str(error))
            self._world.trace.reached(f"a repair was refused: {directive.verb}")
            return
        edited = " with edited input" if directive.input is not None else ""
        doubt = f", doubt {directive.doubt}" if directive.doubt else ""
        self._world.trace.note("mended", task.id, directive.step, edited, doubt, directive.later)
        self._world.trace.reached(f"a repair: {directive.verb}{edited}{doubt}")

    def _directive(self, task: TaskRow) -> Directive:
        chance = self._chance
        failed = [s for s in self._world.mirror.steps_of(task.uid) if s.state == StepState.FAILED and s.kind != "undo"]
        step = chance.choice(failed) if failed and chance.random() < 0.8 else None
        verb = "mark_done" if step is not None and chance.random() < 0.2 else "resubmit"
        # An operator declares that it did not happen only after a check, when nothing is under way.
        doubt = chance.choice([None, Doubt.UNDO, Doubt.UNDO])
        edited = self._edited(step) if verb == "resubmit" and step is not None else None
        later = chance.choice([None, Later.UNDO, Later.KEEP])
        return Directive(
            verb=verb,
            actor="operator",
            step=step.key if step is not None else None,
            input=edited,
            result=b"1" if verb == "mark_done" else None,
            doubt=doubt if verb == "resubmit" and failed else None,
            later=later if failed else None,
        )

    def _edited(self, step: StepRow) -> bytes | None:
        if step.name not in AMOUNTS or self._chance.random() < 0.4:
            return None
        return b"[%d]" % (EDITED + self._chance.randrange(1_000))
