"""Asking a task for an update, and waiting for its answer."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
from msgspec import Raw

from stepward.client.live.client_ports import UpdatesClient
from stepward.client.submitting.submission_checks import Id, task_id
from stepward.durations import text
from stepward.errors import UpdateRejected, UpdateUnanswered
from stepward.model import failures
from stepward.model.live_values import checked_value_name
from stepward.model.states import TASK_ENDS
from stepward.model.tasks.updates import UpdateMessage
from stepward.payload import decode, encode
from stepward.store.contract import UpdateRow, UpdateState


async def asked(
    client: UpdatesClient, id: str, name: str, payload: Any, *, update: Id | None, by: str | None = None
) -> UpdateRow:
    """The update as it stands once it is asked for."""
    checked_value_name(name, "update")
    value = encode(payload, f"update {name}", limit=client.limit)
    known = client.new_uid() if update is None else task_id(update)
    body = msgspec.json.encode(UpdateMessage(known, Raw(value)))
    return await client.ask_update(id, known, name, body, by)


async def answered(client: UpdatesClient, id: str, found: UpdateRow, limit: float | None) -> UpdateRow:
    """The update once it is answered, within ``limit`` seconds. Raises UpdateUnanswered, TimeoutError."""
    try:
        async with asyncio.timeout(limit) as waiting:
            return await _answered(client, id, found)
    except TimeoutError:
        if limit is None or not waiting.expired():
            raise
        raise TimeoutError(
            f"update {found.name} of task {id}: expected an answer within {text(limit)}, found none yet; see in its "
            f"status what the task waits for, and ask again with id={found.id!r}"
        ) from None


def result_of(id: str, found: UpdateRow) -> Any:
    """The result of an answered update. Raises UpdateRejected."""
    if found.state is UpdateState.ACCEPTED:
        return decode(found.answer or b"null", f"answer to update {found.name}")
    raise UpdateRejected(f"update {found.name} of task {id}: {failures.read(found.answer)['message']}")


async def _answered(client: UpdatesClient, id: str, found: UpdateRow) -> UpdateRow:
    with client.changes() as changes:
        while found.state is UpdateState.ASKED:
            task = await client.record(id)
            # Read behind the task: an answer is committed with its end or before.
            found = await client.store.client.update(found.task, found.id) or found
            if found.state is not UpdateState.ASKED:
                break
            if task.state in TASK_ENDS:
                raise UpdateUnanswered(
                    f"update {found.name} of task {id}: expected an answer, found the task {task.state} without one; "
                    "look at what the task did"
                )
            await changes.wait()
    return found
