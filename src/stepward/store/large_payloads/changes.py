"""A Scheduler's changes with references in place of large payloads; what stays in its memory is left as it is."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, TypeVar

from msgspec.structs import replace

from stepward.large_payloads import PayloadKeeper
from stepward.model.messages.cloudevents import OURS
from stepward.model.records import Alert, Step, Task
from stepward.store.contract import Change, Finish, Post, Watch
from stepward.store.sealing.row_codec import EVENT_DATA

Row = TypeVar("Row", Task, Step, Finish, Watch)
ERROR = "error"
PAYLOADS = ("input", "output", ERROR)


async def put_change(keeper: PayloadKeeper, change: Change) -> Change:
    """The change as it is to be written; the same object where nothing in it is large. Raises StoreUnavailable."""
    if not any(map(keeper.is_large, _payloads(change))):
        return change
    owner = change.task
    put = replace(
        change,
        born=None if change.born is None else await put_row(keeper, owner, change.born),
        inserts=await _put_rows(keeper, owner, change.inserts),
        fills=await _put_rows(keeper, owner, change.fills),
        finishes=await _put_rows(keeper, owner, change.finishes),
        watches=await _put_rows(keeper, owner, change.watches),
        children=[await put_row(keeper, child.uid, child) for child in change.children],
        posts=[await _put_post(keeper, post) for post in change.posts],
        alerts=[await _put_alert(keeper, owner, alert) for alert in change.alerts],
    )
    if change.move is not None:
        put.move = replace(change.move, **await _put_fields(keeper, owner, change.move))
    if change.status_events is not None:
        bodies = [await put_event(keeper, owner, body) for body in change.status_events.bodies]
        put.status_events = replace(change.status_events, bodies=bodies)
    return put


async def put_row(keeper: PayloadKeeper, owner: str, row: Row) -> Row:
    """The row with references in place of large payloads; the same object where nothing in it is large."""
    fields = await _put_fields(keeper, owner, row)
    return replace(row, **fields) if fields else row


async def put_event(keeper: PayloadKeeper, owner: str, event: bytes) -> bytes:
    """A status event with a reference in place of large data, which come last in it."""
    at = event.find(EVENT_DATA)
    if not keeper.is_large(event) or not event.startswith(OURS) or at < 0:
        return event
    at += len(EVENT_DATA)
    return event[:at] + await keeper.put(owner, event[at:-1]) + b"}"


async def _put_rows(keeper: PayloadKeeper, owner: str, rows: Collection[Row]) -> list[Row]:
    return [await put_row(keeper, owner, row) for row in rows]


async def _put_post(keeper: PayloadKeeper, post: Post) -> Post:
    return replace(post, body=await keeper.put(post.task, post.body)) if keeper.is_large(post.body) else post


async def _put_alert(keeper: PayloadKeeper, owner: str, alert: Alert) -> Alert:
    details = await keeper.put(alert.task or owner, alert.details, keeps_fields=True)
    return alert if details is alert.details else replace(alert, details=details)


async def _put_fields(keeper: PayloadKeeper, owner: str, row: Any) -> dict[str, bytes]:
    """By field, the references that take the place of large payloads."""
    large: dict[str, bytes] = {
        name: data for name in PAYLOADS if (data := getattr(row, name, None)) is not None and keeper.is_large(data)
    }
    return {name: await keeper.put(owner, data, keeps_fields=name == ERROR) for name, data in large.items()}


def _payloads(change: Change) -> Iterator[bytes | None]:
    rows: Sequence[Collection[Any]] = (change.begun, change.inserts, change.fills, change.finishes, change.watches)
    for each in rows:
        for row in each:
            for name in PAYLOADS:
                yield getattr(row, name, None)
    for name in PAYLOADS if change.move is not None else ():
        yield getattr(change.move, name)
    for post in change.posts:
        yield post.body
    for alert in change.alerts:
        yield alert.details
    if change.status_events is not None:
        yield from change.status_events.bodies
