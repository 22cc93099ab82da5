"""Clients that ask one task for updates, each under its id until it is answered, and what their answers say (S38)."""

from __future__ import annotations

import asyncio
import random

from simulation.application.ledger import ADD, is_accepted, ledger
from simulation.environment.process import SimulatedProcess
from simulation.environment.world import World
from stepward.errors import IllegalTransition, StepwardError, StoreError, TaskNotFound, UpdateRejected, UpdateUnanswered
from stepward.model.states import TASK_ENDS, TaskState
from stepward.payload import decode
from stepward.store.contract import UpdateState

SHARE = 0.1
"""Share of the worlds that have updates."""
LEDGER = "ledger"
PATIENCE = 3.0
PAUSE = 0.5

Answer = tuple[bool, object]
"""Whether the update was accepted, and the result; of a rejected one None."""


class Updaters:
    """Everyone who asks the ledger for something."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._chance = random.Random(f"{world.seed}/updates")
        has_updates = not world.plain and LEDGER not in world.cut.tasks and self._chance.random() < SHARE
        count = self._chance.choice([3, 8]) if has_updates else 0
        self._amounts = {f"u{n}": self._chance.choice([n + 1, n + 1, n + 1, -n]) for n in range(1, count + 1)}
        self._answers: dict[str, Answer] = {}
        self._is_over = not count
        """Whether the ledger has ended, so that nothing new can be asked of it."""

    @property
    def ids(self) -> list[str]:
        """The tasks that they need."""
        return [LEDGER] * bool(self._amounts)

    @property
    def is_at_rest(self) -> bool:
        """Whether everyone has an answer, or knows that there is none."""
        return self._is_over or len(self._answers) == len(self._amounts)

    def come(self, seconds: float) -> None:
        """Plan when each of them asks, some of them twice, from any process."""
        for id in self._amounts:
            for _ in range(self._chance.choice([1, 1, 2])):
                self._world.loop.call_later(self._chance.random() * seconds, self._begin, id)

    async def insist(self) -> None:
        """Ask again for everything that has no answer yet."""
        if not self._amounts:
            return
        while not await self._submitted(self._world.office):
            pass
        for id in self._amounts:
            self._world.office.run(self._until_answered(id))

    def check_end(self) -> None:
        """Compare the answers with the rows and with what the ledger became."""
        task = next((row for row in self._world.mirror.tasks.values() if row.id == LEDGER), None)
        if task is None:
            return
        rows = [row for row in self._world.mirror.update_requests.values() if row.task == task.uid]
        for row in rows:
            if row.state == UpdateState.ASKED and task.state == TaskState.PROCESSED:
                self._check_untaken(task.uid, row.id)
        accepted = {
            row.id: decode(row.answer or b"null", "answer") for row in rows if row.state == UpdateState.ACCEPTED
        }
        total = 0
        for id, found in sorted(accepted.items(), key=lambda each: each[1]):
            total += self._amounts[id]
            if found != total:
                self._broken(f"update {id} was answered {found}, its amounts in order make {total}")
        if task.state == TaskState.PROCESSED and decode(task.output or b"null", "output") != total:
            self._broken(f"{LEDGER} ended with {task.output!r}, its accepted updates make {total}")
        for id, (is_taken, result) in self._answers.items():
            if is_taken and accepted.get(id) != result:
                self._broken(f"update {id} was answered {result} to its client, the store has {accepted.get(id)}")

    def _check_untaken(self, uid: str, id: str) -> None:
        waits = [row for row in self._world.mirror.inbox.values() if row.task == uid and f'"{id}"'.encode() in row.body]
        if not waits:
            self._broken(f"update {id} was taken and never answered")

    def _begin(self, id: str) -> None:
        able = [process for process in self._world.processes.values() if process.started and not process.dead]
        process = self._chance.choice([*able, self._world.office])
        process.run(self._ask_once(process, id))

    async def _ask_once(self, process: SimulatedProcess, id: str) -> None:
        if await self._submitted(process):
            await self._ask(process, id)

    async def _until_answered(self, id: str) -> None:
        while id not in self._answers and not self._is_over:
            await self._ask(self._world.office, id)
            await asyncio.sleep(PAUSE)

    async def _submitted(self, process: SimulatedProcess) -> bool:
        most = sum(map(is_accepted, self._amounts.values()))
        try:
            async with asyncio.timeout(PATIENCE):
                await process.client.submit(ledger, most, id=LEDGER)
        except (TimeoutError, StoreError):
            return False
        return True

    async def _ask(self, process: SimulatedProcess, id: str) -> None:
        amount = self._amounts[id]
        try:
            async with asyncio.timeout(2 * PATIENCE):
                result = await process.client.task(LEDGER).update(ADD, amount, id=id, timeout=PATIENCE)
        except UpdateRejected:
            self._answered(id, (False, None))
        except (IllegalTransition, UpdateUnanswered):
            self._is_over = self._has_ended()
        except (TimeoutError, StoreError, TaskNotFound):
            return
        except StepwardError as error:
            self._broken(f"update {id} was refused: {error}")
        else:
            self._answered(id, (True, result))

    def _has_ended(self) -> bool:
        rows = [row for row in self._world.mirror.tasks.values() if row.id == LEDGER]
        return bool(rows) and rows[0].state in TASK_ENDS

    def _answered(self, id: str, answer: Answer) -> None:
        self._world.trace.reached("an update was accepted" if answer[0] else "an update was rejected")
        if answer[0] != is_accepted(self._amounts[id]):
            self._broken(f"update {id} of {self._amounts[id]} was answered {answer}")
        if self._answers.setdefault(id, answer) != answer:
            self._broken(f"update {id} was answered {self._answers[id]}, and then {answer}")

    def _broken(self, message: str) -> None:
        self._world.trace.violated("S38", message)
