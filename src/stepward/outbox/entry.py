"""A row of the outbox: a whole submission, checked before it is written."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from stepward.client import Options
from stepward.client.submitting import submission_checks
from stepward.durations import Duration, seconds
from stepward.errors import InvalidArguments, InvalidDuration, InvalidPayload
from stepward.model.tasks.attributes import NO_ATTRIBUTES, decoded, encoded
from stepward.model.tracing.submission_span import current_traceparent, linked
from stepward.payload import check_size, decode, encode
from stepward.payload.sealed import PayloadCodec
from stepward.workflow.definition import Workflow

ENTRY_PLACE = "outbox.entry"
"""The place that an encrypted row is bound to, beside its id."""


class OutboxEntry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A submission that is not made yet. Durations count from when it is made."""

    workflow: str
    arguments: list[Any] = []
    priority: int = 5
    complete_by: datetime | float | None = None
    delay: float | None = None
    reply_to: str | None = None
    labels: dict[str, str] = {}
    attributes: msgspec.Raw = msgspec.Raw(NO_ATTRIBUTES)
    """As a task keeps them."""
    fairness_key: str | None = None

    def options(self, id: str) -> Options:
        """The submission without the workflow and its arguments."""
        return Options(
            id=id,
            priority=self.priority,
            complete_by=self.complete_by,
            delay=self.delay,
            reply_to=self.reply_to,
            labels=self.labels,
            attributes=decoded(bytes(self.attributes)),
            fairness_key=self.fairness_key,
        )


class OutboxRow(Struct, frozen=True):
    """A stored row; without a body if that is larger than any submission may be."""

    number: int
    id: bytes
    body: bytes | None
    is_text: bool = True


def written(
    workflow: Workflow[Any, Any] | str,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    options: Options,
    app: str,
    *,
    limit: int,
) -> bytes:
    """The body of a row. Raises Refused for invalid input; arguments of a workflow known only by name are checked
    when the row is carried."""
    what = f"arguments of {submission_checks.workflow_name(workflow)}"
    if isinstance(workflow, Workflow):
        packed = submission_checks.by_declaration(workflow, args, kwargs, limit)
    elif kwargs:
        raise InvalidArguments(
            f"{what}: expected positional ones for a name, found {', '.join(kwargs)}; leave out names"
        )
    else:
        packed = encode(list(args), what, limit=limit)
    submission_checks.labels(options.labels)
    delay = None if options.delay is None else seconds(options.delay, "delay", zero=True)
    complete_by = _until(options.complete_by)
    if not isinstance(complete_by, datetime):
        limit_of_workflow = workflow.complete_seconds if isinstance(workflow, Workflow) else None
        submission_checks.check_delay(delay, limit_of_workflow if complete_by is None else complete_by)
    entry = OutboxEntry(
        workflow=submission_checks.workflow_name(workflow),
        arguments=msgspec.json.decode(packed),
        priority=submission_checks.priority(options.priority),
        complete_by=complete_by,
        delay=delay,
        reply_to=submission_checks.reply_queue(options.reply_to, app),
        labels=dict(options.labels or {}),
        attributes=msgspec.Raw(encoded(linked(options.attributes, current_traceparent()))),
        fairness_key=submission_checks.fairness_key(options.fairness_key),
    )
    return encode(entry, f"outbox entry of {entry.workflow}", limit=limit)


def read(row: OutboxRow, *, limit: int) -> OutboxEntry:
    """The submission in a row. Raises Refused for a row that this class did not write."""
    what = f"outbox entry {row.id[:200].decode(errors='replace')!r}"
    if row.body is None:
        raise InvalidPayload(f"{what}: expected at most {limit:,} bytes, found more; pass a reference in its place")
    if not row.is_text:
        raise InvalidPayload(f"{what}: expected texts, found a blob or a number; write rows with Outbox.put")
    check_size(row.body, what, limit=limit)
    entry: OutboxEntry = decode(row.body, what, OutboxEntry)
    return entry


def opened(row: OutboxRow, codec: PayloadCodec | None) -> OutboxRow:
    """The row with its body decrypted; one that cannot be is refused when it is read."""
    if codec is None or row.body is None or not row.is_text:
        return row
    return replace(row, body=codec.open(row.body, row.id.decode(errors="replace"), ENTRY_PLACE))


def asked_by(row: OutboxRow) -> bytes:
    """The response queue of a row, as a message's envelope, as far as it can be read."""
    try:
        found = msgspec.json.decode(row.body or b"null", type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        found = {}
    return msgspec.json.encode({"id": row.id.decode(errors="replace"), "replyto": found.get("reply_to")})


def _until(value: datetime | Duration | None) -> datetime | float | None:
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise InvalidDuration(f"complete_by: expected a datetime with a time zone, found {value}; give it one")
        return value
    return None if value is None else seconds(value, "complete_by")
