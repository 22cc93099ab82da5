"""Records as a Scheduler needs them: with large payloads fetched."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from stepward.large_payloads import PayloadKeeper
from stepward.model.messages.requests import RecordedReply
from stepward.model.records import History, InboxKind, InboxRow, Task
from stepward.payload.references import BEGINNING, JOINED, is_elsewhere
from stepward.payload.sealed import why_unopened

WITHIN = (BEGINNING, JOINED)


async def fetch_history(keeper: PayloadKeeper, history: History) -> History:
    """The history with everything in it; rows are changed in place. Raises StoreUnavailable."""
    task = history.task
    await _fetch_fields(keeper, task.uid, task, ("input",))
    for step in history.steps:
        await _fetch_fields(keeper, task.uid, step, ("input", "output", "error"))
    return replace(history, inbox=[await fetch_inbox_row(keeper, row) for row in history.inbox])


async def fetch_task(keeper: PayloadKeeper, task: Task) -> Task:
    """A task with its result and its error fetched. Raises StoreUnavailable."""
    await _fetch_fields(keeper, task.uid, task, ("output", "error"))
    return task


async def fetch_inbox_row(keeper: PayloadKeeper, row: InboxRow) -> InboxRow:
    """A row of an inbox, with what a child or an Agent answered in it."""
    body = await keeper.fetch(row.task, row.body)
    if row.kind is InboxKind.CHILD and b"stepward." in body:
        body = await _fetch_end(keeper, row.task, body)
    elif row.kind is InboxKind.REPLY:
        body = await _fetch_reply(keeper, row.task, body)
    return row if body is row.body else replace(row, body=body)


async def _fetch_fields(keeper: PayloadKeeper, owner: str, row: Any, names: tuple[str, ...]) -> None:
    for name in names:
        data = getattr(row, name)
        if data is not None and is_elsewhere(data):
            setattr(row, name, await keeper.fetch(owner, data))


async def _fetch_end(keeper: PayloadKeeper, owner: str, body: bytes) -> bytes:
    """A child's end; a part that cannot be fetched stays a reference, which the parent's code cannot read."""
    try:
        fields = msgspec.json.decode(body, type=dict[str, Raw])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return body
    for name, raw in fields.items():
        if is_elsewhere(bytes(raw)):
            found = await keeper.fetch(owner, bytes(raw))
            fields[name] = raw if why_unopened(found) is not None else Raw(found)
    return msgspec.json.encode(fields)


async def _fetch_reply(keeper: PayloadKeeper, owner: str, body: bytes) -> bytes:
    try:
        reply = msgspec.json.decode(body, type=RecordedReply)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return body
    large = {name: data for name in ("output", "error") if (data := getattr(reply, name)) and is_elsewhere(data)}
    if not large:
        return body
    fetched = {name: await keeper.fetch(owner, data) for name, data in large.items()}
    return msgspec.json.encode(replace(reply, **fetched))
