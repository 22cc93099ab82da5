"""Checks of a submission before anything is written: its place, id, workflow, labels, complete-by, delay."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from stepward.durations import LONGEST, Duration, seconds, shown
from stepward.error_messages import nearest
from stepward.errors import InvalidDuration, InvalidId, Refused, UnknownWorkflow
from stepward.model.action import current_caller
from stepward.model.messages.requests import is_response_queue
from stepward.model.records import PRIORITIES
from stepward.model.tasks.control_characters import UNPRINTABLE, sought
from stepward.model.tasks.submit_options import SubmitOptions
from stepward.payload import encode
from stepward.workflow.definition import Workflow

ID = re.compile(r"[A-Za-z0-9._:@-]{1,200}")
MOST_LABELS = 20
LABEL_LENGTH = 200
NO_LABELS = b"{}"
OPTIONS = ("id", "transaction", *SubmitOptions.__annotations__)
"""What ``submit`` takes beside the workflow's arguments."""

Id = str | UUID
"""The id of a task, or of a signal, as callers give it."""


def usable(call: str, missing: str | None) -> None:
    """Raise Refused for a client that is not open, as ``missing`` says, and within workflow code, which does no I/O."""
    caller = current_caller()
    if caller is not None:
        caller.refuse(call)
    if missing is not None:
        raise Refused(missing)


def task_id(id: Id) -> str:
    """An id under which a task may be submitted. Raises InvalidId."""
    text = _text_of(id)
    if not ID.fullmatch(text):
        raise InvalidId(f"id: expected 1 to 200 of A-Z a-z 0-9 . _ : @ -, found {text[:60]!r}; choose another")
    return text


def priority(value: int) -> int:
    """0 (last) to 9 (first)."""
    if not isinstance(value, int) or isinstance(value, bool) or value not in PRIORITIES:
        raise Refused(f"priority: expected 0 (last) to 9 (first), found {shown(value)}; give a number")
    return int(value)  # PostgreSQL is sent numbers as Python writes them, and a member of an enumeration is not one.


def labels(value: Mapping[str, str] | None) -> bytes:
    """A few short texts by which tasks are found."""
    if value is None:
        return NO_LABELS
    if not isinstance(value, Mapping) or len(value) > MOST_LABELS:
        raise Refused(f"labels: expected at most {MOST_LABELS} texts of {LABEL_LENGTH} characters by name")
    for name, each in value.items():
        check_label(name, each)
    return encode(dict(value), "labels")


def reply_queue(queue: str | None, app: str) -> str | None:
    """The queue of a task's status events, if there is one."""
    return None if queue is None else own_queue(queue, app)


def fairness_key(value: str | None) -> str | None:
    """What tasks are kept fair between: a tenant, a customer."""
    return short_text(value, "fairness_key")


def deadline(
    value: datetime | Duration | None, default: float | None, now: float, what: str = "complete_by"
) -> float | None:
    """A complete-by, or ``what``, as an instant of the store's clock: a duration from now, or an aware datetime."""
    if value is None:
        return None if default is None else now + default
    if not isinstance(value, datetime):
        return now + seconds(value, what)
    if value.tzinfo is None:
        raise InvalidDuration(f"{what}: expected a datetime with a time zone, found {value}; give it one")
    instant = value.timestamp()
    if instant <= now:
        raise InvalidDuration(
            f"{what}: expected an instant to come, found {value.isoformat()}, which was "
            f"{timedelta(seconds=round(now - instant))} ago"
        )
    if instant > now + LONGEST:
        raise InvalidDuration(f"{what}: expected at most 3650 days from now, found {value.isoformat()}")
    return instant


def wake(delay: Duration | None, complete_by: float | None, now: float) -> float | None:
    """When a task that is to wait begins. Raises InvalidDuration where it would have ended by then."""
    if delay is None:
        return None
    asked = seconds(delay, "delay", zero=True)
    check_delay(asked, None if complete_by is None else complete_by - now)
    return now + asked


def check_delay(delay: float | None, until_complete_by: float | None) -> None:
    """Raises InvalidDuration for a task that would begin when it must have ended."""
    if delay is not None and until_complete_by is not None and delay >= until_complete_by:
        raise InvalidDuration(
            f"delay: expected less than the {timedelta(seconds=round(until_complete_by))} until the complete-by, found "
            f"{timedelta(seconds=round(delay))}; begin sooner, or give it longer"
        )


def by_declaration(workflow: Workflow[Any, Any], args: tuple[Any, ...], kwargs: Mapping[str, Any], limit: int) -> bytes:
    """The argument array, checked against the workflow's own signature."""
    data = workflow.signature.pack(args, kwargs, limit=limit, options=OPTIONS)
    workflow.signature.unpack(data)
    return data


def known_id(id: Id) -> str:
    """The text of an id by which a task is looked up. Raises InvalidId."""
    return sought(_text_of(id))


def _text_of(id: Id) -> str:
    if isinstance(id, UUID):
        return str(id)
    if not isinstance(id, str):
        raise InvalidId(f"id: expected a text or a UUID, found {shown(id)}; give its text")
    return id


def own_queue(queue: str, app: str) -> str:
    """A private response queue, which lives under ``replies.<app>.``"""
    if not isinstance(queue, str) or not is_response_queue(queue, app):
        raise Refused(f"reply_to: expected replies.{app}.NAME, found {str(queue)[:80]!r}; name one of this app's")
    return queue


def workflow_name(value: object) -> str:
    """The name of a workflow that is given itself or by name."""
    name = value.name if isinstance(value, Workflow) else value
    if not isinstance(name, str):
        raise Refused(
            f"workflow: expected what @workflow declares, or its name, found {shown(value)}; "
            + ("put @workflow above it" if inspect.isroutine(value) else "give one of them")
        )
    return name


def unknown(name: str, known: Iterable[str]) -> UnknownWorkflow:
    """The refusal of a workflow that neither this program's App nor any Scheduler has registered."""
    names = sorted(set(known))
    advice = nearest(name, names) or "add it to App(workflows=[…]), and start a Scheduler of that App"
    return UnknownWorkflow(
        f"workflow {name[:100]!r}: expected a registered one, found no such; "
        f"known: {', '.join(names) or 'none'}; {advice}"
    )


def unknown_version(name: str, version: str, known: Iterable[str]) -> UnknownWorkflow:
    """The refusal of a version of a workflow that neither this program's App nor any Scheduler has registered."""
    return UnknownWorkflow(
        f"workflow {name[:100]}@{version[:100]}: expected a registered version, found none such; known: "
        f"{', '.join(sorted(set(known))) or 'none'}; start a Scheduler that serves it, or name one of these"
    )


def check_label(name: object, value: object) -> None:
    """Checks the name and the text of one label. Raises Refused."""
    _check_text(name, "labels")
    if value != "":
        _check_text(value, "labels")


def short_text(value: str | None, what: str) -> str | None:
    """``value``, a text of at most ``LABEL_LENGTH`` characters, or None. Raises Refused."""
    if value is not None:
        _check_text(value, what)
    return value


def _check_text(value: object, what: str) -> None:
    """Checks a text from outside: short, and without characters that a database or a terminal cannot take."""
    if not isinstance(value, str) or not 0 < len(value) <= LABEL_LENGTH:
        raise Refused(f"{what}: expected 1 to {LABEL_LENGTH} characters, found {shown(value)}; give a short text")
    if UNPRINTABLE.search(value):
        raise Refused(f"{what}: expected no control characters, found {shown(value)}; leave them out")
