"""PostgreSQL's own part of the applications' verbs: calls that share commits, and transactions on connections of the
application."""

from __future__ import annotations

from collections.abc import Sequence

from stepward.model.messages.change_kinds import of_submissions
from stepward.model.pipeline_plan import NO_PLANS, Plans
from stepward.model.records import Step, Task
from stepward.model.states import TaskState
from stepward.store.contract import Completion, ExternalTransaction, Refusal, Submitted
from stepward.store.postgres.engine.database import Database
from stepward.store.postgres.engine.shared_writes import ActSize, Outcome, SharedWrites
from stepward.store.postgres.external import PostgresExternalTransaction, StoreOrigin
from stepward.store.postgres.hot import shared_directives
from stepward.store.postgres.hot.shared_completions import RunStepKey, complete_all, steps_at
from stepward.store.postgres.hot.shared_signals import signal_all
from stepward.store.postgres.hot.shared_submissions import NewTask, submit_all
from stepward.store.verbs.actors.client import ClientVerbs, DirectiveAct, SignalAct
from stepward.store.verbs.engine import VerbEngine

ROWS_OF_SIGNAL = 3
"""Most rows that a signal inserts: into the inbox, of its id, and for the audit."""
ROWS_OF_DIRECTIVE = 4
"""Rows that a directive writes: of the task or the inbox, for the audit, and of status events for two queues."""
ROWS_OF_COMPLETION = 3
"""Rows that a completion writes: of the step, in the inbox, and for the audit."""


class PostgresClient(ClientVerbs):
    """Implements ``ClientStore`` on PostgreSQL."""

    def __init__(self, engine: VerbEngine, database: Database) -> None:
        super().__init__(engine)
        self._database = database
        self._origin = StoreOrigin(database)
        self._submissions = SharedWrites(self._submit_one, self._submit_all, lambda new: new.size)
        self._signals = SharedWrites(
            super()._signal, self._signal_all, lambda act: ActSize(ROWS_OF_SIGNAL, len(act.post.body))
        )
        self._directives = SharedWrites(super()._direct, self._direct_all, lambda act: ActSize(ROWS_OF_DIRECTIVE, 0))
        self._completed_steps = SharedWrites(
            self._completed_step, self._completed_steps_of, lambda place: ActSize(1, 0)
        )
        self._completions = SharedWrites(super()._complete, self._complete_all, _size_of_completion)

    def external(self, connection: object) -> ExternalTransaction:
        return PostgresExternalTransaction(connection, self._database, self._origin, self._ring)

    async def submit(self, tasks: Sequence[Task], plans: Plans = NO_PLANS) -> list[Submitted]:
        """One alone shares the commit of others that come at the same time."""
        if len(tasks) != 1:
            return await super().submit(tasks, plans)
        submitted = await self._submissions.write(NewTask(tasks[0], plans))
        self._ring(of_submissions(tasks))
        return [submitted]

    async def _signal(self, asked: SignalAct) -> bool:
        """One shares the commit of others."""
        return await self._signals.write(asked)

    async def _signal_all(self, acts: Sequence[SignalAct]) -> list[Outcome[bool]]:
        return await self._transactions.write(signal_all, acts, self._clock.now())

    async def _direct(self, asked: DirectiveAct) -> TaskState:
        """One that edits no steps shares the commit of others."""
        shared = shared_directives.can_share(asked.directive)
        return await (self._directives.write(asked) if shared else super()._direct(asked))

    async def _direct_all(self, acts: Sequence[DirectiveAct]) -> list[Outcome[TaskState]]:
        return await self._transactions.write(shared_directives.direct_all, acts, self._clock.now())

    async def completed_step(self, task: str, run: int, key: str) -> Step | None:
        """One read shares the statement of others."""
        return await self._completed_steps.write((task, run, key))

    async def _completed_step(self, place: RunStepKey) -> Step | None:
        return await super().completed_step(*place)

    async def _completed_steps_of(self, places: Sequence[RunStepKey]) -> list[Step | None]:
        return await self._transactions.read(steps_at, places)

    async def _complete(self, completion: Completion) -> Refusal | None:
        return await self._completions.write(completion)

    async def _complete_all(self, completions: Sequence[Completion]) -> list[Outcome[Refusal | None]]:
        return await self._transactions.write(complete_all, completions, self._clock.now())

    async def _submit_one(self, new: NewTask) -> Submitted:
        (submitted,) = await self._submit_all([new])
        if isinstance(submitted, Exception):
            raise submitted
        return submitted

    async def _submit_all(self, new: Sequence[NewTask]) -> Sequence[Submitted | Exception]:
        return await submit_all(self._database, new)


def _size_of_completion(act: Completion) -> ActSize:
    return ActSize(ROWS_OF_COMPLETION, len(act.output or act.error or b""))
