"""The verbs of applications: submissions, reads, signals, directives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from stepward.model.messages.change_kinds import INBOX, TASKS, of_submissions
from stepward.model.pipeline_plan import NO_PLANS, Plans
from stepward.model.records import InboxKind, Step, Task, WorkflowRecord
from stepward.model.states import TASK_ENDS, TaskState
from stepward.model.tasks.key_rules import KeyRule
from stepward.store import rows
from stepward.store.contract import (
    Directive,
    Fork,
    Post,
    Submitted,
    Tally,
    UpdateAct,
    UpdateRow,
)
from stepward.store.contract.by_subject.live_values import (
    MOST_VALUES,
    STREAM_BYTES,
    STREAM_ROWS,
    LiveValue,
    StreamValue,
)
from stepward.store.contract.values.updates import update_row
from stepward.store.rules import inbox_rules, refusals
from stepward.store.rules.audit import audited_acts
from stepward.store.verbs import alerts_and_audit
from stepward.store.verbs import connection as ask
from stepward.store.verbs.connection import VerbConnection
from stepward.store.verbs.flow_control import keyed_submissions
from stepward.store.verbs.tasks import directives, forks, inbox, new_tasks, updates
from stepward.store.verbs.tasks.completions import CompletionVerbs


class SignalAct(NamedTuple):
    """A signal as it was asked for."""

    post: Post
    signal_id: str | None
    actor: str | None
    expected: Sequence[str]
    """Versions of the task, one of which it must have; empty: any."""
    reason: str | None


class DirectiveAct(NamedTuple):
    """A directive as it was asked for."""

    id: str
    """Of the task."""
    directive: Directive


class ClientVerbs(CompletionVerbs):
    """Implements ``ClientStore``."""

    async def submit(self, tasks: Sequence[Task], plans: Plans = NO_PLANS) -> list[Submitted]:
        submitted = await self._transactions.write(new_tasks.submit, tasks, plans)
        self._ring(of_submissions(tasks))
        return submitted

    async def submit_keyed(
        self, tasks: Sequence[Task], rule: KeyRule, plans: Plans = NO_PLANS, *, actor: str
    ) -> list[Submitted]:
        submitted = await self._transactions.write(keyed_submissions.submit, tasks, rule, plans, actor)
        self._ring()
        return submitted

    async def task(self, id: str) -> Task | None:
        row = await self._transactions.read(ask.row, "client.task", id)
        return rows.task(row) if row else None

    async def steps(self, id: str) -> list[Step]:
        return [rows.step(row) for row in await self._transactions.read(ask.rows, "client.steps", id)]

    async def tallies(self, uids: Sequence[str], stages: Sequence[str]) -> list[Tally]:
        found = await self._transactions.read(ask.rows, "client.tallies", list(uids), list(stages))
        return [rows.tally(row) for row in found]

    async def ended(self, uids: Sequence[str]) -> list[Task]:
        return [rows.task(row) for row in await self._transactions.read(ask.rows, "client.ended", list(uids))]

    async def direct(self, id: str, directive: Directive) -> TaskState:
        after = await self._direct(DirectiveAct(id, directive))
        self._ring()
        return after

    async def _direct(self, asked: DirectiveAct) -> TaskState:
        return await self._transactions.write(_direct, asked, self._clock.now())

    async def signal(
        self,
        id: str,
        name: str,
        payload: bytes,
        signal_id: str | None,
        actor: str | None = None,
        *,
        expected: Sequence[str] = (),
        reason: str | None = None,
    ) -> bool:
        """Delivers a signal; raises TaskNotFound, or IllegalTransition once the task has ended."""
        post = Post(task=id, kind=InboxKind.SIGNAL, name=name, body=payload, sender=signal_id or "")
        asked = SignalAct(post, signal_id, actor, expected, reason)
        is_new = await self._signal(asked)
        self._ring(INBOX | TASKS)
        return is_new

    async def _signal(self, asked: SignalAct) -> bool:
        return await self._transactions.write(_signal, asked, self._clock.now())

    async def live_value(self, task: str, name: str) -> LiveValue | None:
        row = await self._transactions.read(ask.row, "client.live_value", task, name)
        return None if row is None else LiveValue(*tuple(row)[1:])

    async def live_values(self, task: str) -> list[LiveValue]:
        found = await self._transactions.read(ask.rows, "client.live_values", task, MOST_VALUES)
        return [LiveValue(*tuple(row)[1:]) for row in found]

    async def stream_values(self, task: str, name: str, start: int) -> list[StreamValue]:
        bounds = (STREAM_ROWS, STREAM_BYTES)
        found = await self._transactions.read(ask.rows, "client.stream_values", task, name, start, *bounds)
        return [StreamValue(*tuple(row)[2:]) for row in found]

    async def streams(self, task: str) -> dict[str, int]:
        return dict(map(tuple, await self._transactions.read(ask.rows, "client.streams", task, MOST_VALUES)))

    async def fork(self, fork: Fork) -> Submitted:
        submitted = await self._transactions.write(_fork, fork, self._clock.now())
        self._ring()
        return submitted

    async def ask_update(self, asked: UpdateAct) -> UpdateRow:
        found = await self._transactions.write(_ask_update, asked, self._clock.now())
        self._ring()
        return found

    async def update(self, task: str, id: str) -> UpdateRow | None:
        row = await self._transactions.read(ask.row, "client.update", task, id)
        return None if row is None else update_row(row)

    async def workflow(self, name: str) -> list[WorkflowRecord]:
        return [rows.workflow(row) for row in await self._transactions.read(ask.rows, "client.workflow", name)]

    async def workflows(self) -> list[WorkflowRecord]:
        return [rows.workflow(row) for row in await self._transactions.read(ask.rows, "client.workflows")]


async def _locked(connection: VerbConnection, id: str) -> Task:
    row = await connection.row("client.lock_task", id)
    if row is None:
        raise refusals.not_found(id)
    return rows.task(row)


async def _direct(connection: VerbConnection, asked: DirectiveAct, now: float) -> TaskState:
    task = await _locked(connection, asked.id)
    await _check_version(connection, task, asked.directive.expected)
    return await directives.direct(connection, task, asked.directive, now)


async def _check_version(connection: VerbConnection, task: Task, expected: Sequence[str]) -> None:
    """Raises TaskChanged if the locked task has none of the expected versions."""
    if expected:
        (tally,) = await connection.rows("client.tallies", [task.uid], [])
        refusals.check_version(task, rows.tally(tally), expected)


async def _fork(connection: VerbConnection, asked: Fork, now: float) -> Submitted:
    origin = await _locked(connection, asked.origin.id)
    await _check_version(connection, origin, asked.expected)
    return await forks.fork(connection, origin, asked, now)


async def _ask_update(connection: VerbConnection, asked: UpdateAct, now: float) -> UpdateRow:
    task = await _locked(connection, asked.task_id)
    await _check_version(connection, task, asked.expected)
    return await updates.ask(connection, task, asked, now)


async def _signal(connection: VerbConnection, asked: SignalAct, now: float) -> bool:
    post = asked.post
    task = await _locked(connection, post.task)
    await _check_version(connection, task, asked.expected)
    if asked.signal_id is not None and not await connection.change(
        "client.see_signal", task.uid, post.name, asked.signal_id, task.run
    ):
        return False
    if task.state in TASK_ENDS:
        raise refusals.signal_too_late(task, post.name)
    if task.inbox >= inbox_rules.UNCOUNTED:
        waiting, size = (await connection.rows("client.waiting_signals", task.uid))[0]
        inbox_rules.check_signals(task, waiting + 1, size + len(post.body), post.name)
    await inbox.insert(connection, [msgspec.structs.replace(post, task=task.uid)], now)
    if asked.actor is not None:
        audit = audited_acts.signal_audit(task, post, asked.actor, asked.reason)
        await alerts_and_audit.write_audits(connection, [audit], now)
    return True
