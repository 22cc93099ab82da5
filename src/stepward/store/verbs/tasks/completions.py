"""Steps that are finished from outside: the key of their tokens, and the outcome on the row."""

from __future__ import annotations

import msgspec

from stepward.model.records import Step, Task
from stepward.model.states import TASK_ENDS
from stepward.store import rows
from stepward.store.contract import Completion, Refusal
from stepward.store.rules.steps import completion_refusals, completions
from stepward.store.verbs import alerts_and_audit
from stepward.store.verbs import connection as ask
from stepward.store.verbs.connection import VerbConnection
from stepward.store.verbs.engine import VerbPart
from stepward.store.verbs.tasks import inbox


class CompletionVerbs(VerbPart):
    """Implements ``CompletionStore``."""

    async def completion_key(self, fresh: bytes) -> bytes:
        row = await self._transactions.read(ask.row, "completions.key")
        key: str = row[0] if row else await self._transactions.write(_keep_key, fresh.hex())
        return bytes.fromhex(key)

    async def completed_step(self, task: str, run: int, key: str) -> Step | None:
        row = await self._transactions.read(ask.row, "completions.step", task, run, key)
        return rows.step(row) if row else None

    async def complete(self, completion: Completion) -> Refusal | None:
        refused = await self._complete(completion)
        self._ring()
        return refused

    async def _complete(self, completion: Completion) -> Refusal | None:
        return await self._transactions.write(_complete, completion, self._clock.now())

    async def refuse_completion(self, completion: Completion, refusal: Refusal) -> None:
        await self._transactions.write(_refuse, completion, refusal, self._clock.now())


async def _keep_key(connection: VerbConnection, fresh: str) -> str:
    await connection.change("completions.keep_key", fresh)
    key: str = (await connection.rows("completions.key"))[0][0]
    return key


async def _complete(connection: VerbConnection, completion: Completion, now: float) -> Refusal | None:
    task = (await inbox.lock(connection, [completion.task])).get(completion.task)
    step = await _step(connection, completion)
    refused = completions.refusal(completion, task, step, now)
    if task is not None and step is not None and refused is None:
        settled = completions.settled(completion, step)
        if await _record(connection, settled, now):
            await _post_to_owner(connection, task, settled, now)
        else:
            # The owner, whose steps need no lock on the task, was faster.
            step = await _step(connection, completion)
            refused = completions.refusal(completion, task, step, now) or completions.overtaken(completion, task)
    await note(connection, completion, task, refused, now)
    return refused


async def _step(connection: VerbConnection, completion: Completion) -> Step | None:
    row = await connection.row("completions.step", completion.task, completion.run, completion.key)
    return rows.step(row) if row else None


async def _record(connection: VerbConnection, completion: Completion, now: float) -> bool:
    place = (completion.task, completion.run, completion.key, completion.attempt)
    return bool(await connection.change("completions.complete", *place, completion.output, completion.error, now))


async def _post_to_owner(connection: VerbConnection, task: Task, completion: Completion, now: float) -> None:
    if task.state not in TASK_ENDS:
        await inbox.insert(connection, [completions.recorded_reply(completion, now)], now)


async def _refuse(connection: VerbConnection, completion: Completion, refusal: Refusal, now: float) -> None:
    task = (await inbox.lock(connection, [completion.task])).get(completion.task)
    await note(connection, completion, task, refusal, now)


async def note(
    connection: VerbConnection, completion: Completion, task: Task | None, refused: Refusal | None, now: float
) -> None:
    """Audits a completion; refusals beyond a bound are only counted."""
    if refused is not None and await _are_too_many(connection, completion_refusals.principal(task, refused), now):
        known = await connection.row("completions.open_alert")
        alert = completion_refusals.many_refused(completion, now, b"{}" if known is None else known[1])
        await alerts_and_audit.count_on(connection, known, alert, now)
    else:
        await alerts_and_audit.write_audits(connection, [completion_refusals.audit(completion, task, refused)], now)


async def _are_too_many(connection: VerbConnection, whose: str, now: float) -> bool:
    row = await connection.row("completions.refusals")
    known = (
        completion_refusals.CompletionRefusals()
        if row is None
        else msgspec.json.decode(row[0], type=completion_refusals.CompletionRefusals)
    )
    refusals = known.one_more(whose, now)
    if refusals is None:
        return True
    await connection.change("completions.keep_refusals", msgspec.json.encode(refusals).decode())
    return False
