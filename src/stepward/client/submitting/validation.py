"""Checks of what callers give, before anything is written, and of where they call."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, TypeVar
from uuid import UUID

from stepward.durations import LONGEST, Duration, seconds, shown
from stepward.error_messages import nearest
from stepward.errors import InvalidDuration, InvalidId, Refused, UnknownWorkflow
from stepward.model.action import current_caller
from stepward.model.messages.requests import is_response_queue
from stepward.model.records import PRIORITIES
from stepward.model.tasks.control_characters import UNPRINTABLE
from stepward.model.tasks.submit_options import SubmitOptions
from stepward.payload import encode
from stepward.workflow.definition import Workflow

Word = TypeVar("Word", bound=StrEnum)
ID = re.compile(r"[A-Za-z0-9._:@-]{1,200}")
APP = re.compile(r"[A-Za-z0-9_-]{1,100}")
MOST_LABELS = 20
LABEL_LENGTH = 200
MOST_LISTED = 10_000
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
    text = known_id(id)
    if not ID.fullmatch(text):
        raise InvalidId(f"id: expected 1 to 200 of A-Z a-z 0-9 . _ : @ -, found {text[:60]!r}; choose another")
    return text


def known_id(id: Id) -> str:
    """The text of an id by which a task is looked up. Raises InvalidId."""
    if isinstance(id, UUID):
        return str(id)
    if not isinstance(id, str):
        raise InvalidId(f"id: expected a text or a UUID, found {shown(id)}; give its text")
    return id


def priority(value: int) -> int:
    """0 (last) to 9 (first)."""
    if not isinstance(value, int) or isinstance(value, bool) or value not in PRIORITIES:
        raise Refused(f"priority: expected 0 (last) to 9 (first), found {shown(value)}; give a number")
    return value


def one_of(kind: type[Word], value: object, what: str) -> Word | None:
    """One of a few words, or None."""
    if value is None:
        return None
    try:
        return kind(str(value))
    except ValueError:
        raise Refused(f"{what}: expected one of {', '.join(kind)}, found {value!r:.60}; use one of them") from None


def labels(value: Mapping[str, str] | None) -> bytes:
    """A few short texts by which tasks are found."""
    given: object = {} if value is None else value
    if not isinstance(given, Mapping) or len(given) > MOST_LABELS:
        raise Refused(f"labels: expected at most {MOST_LABELS} texts of {LABEL_LENGTH} characters by name")
    for name, each in given.items():
        _label(name, each)
    return encode(dict(given), "labels")


def app_name(name: str) -> str:
    """The name of an application, whose store and queues these are."""
    if not isinstance(name, str) or not APP.fullmatch(name):
        raise Refused(f"app: expected a name of 1 to 100 of A-Z a-z 0-9 _ -, found {name!r:.80}")
    return name


def reply_queue(queue: str | None, app: str) -> str | None:
    """The queue of a task's status events, if there is one."""
    return None if queue is None else own_queue(queue, app)


def own_queue(queue: str, app: str) -> str:
    """A private response queue, which lives under ``replies.<app>.``"""
    if not isinstance(queue, str) or not is_response_queue(queue, app):
        raise Refused(f"reply_to: expected replies.{app}.NAME, found {str(queue)[:80]!r}; name one of this app's")
    return queue


def fairness_key(value: str | None) -> str | None:
    """What tasks are kept fair between: a tenant, a customer."""
    return _short_text(value, "fairness_key")


def note(value: str | None) -> str | None:
    """Why an operator does something, for the audit."""
    return _short_text(value, "note")


def reason(value: str | None) -> str | None:
    """Why an actor asks for something, for the audit."""
    return _short_text(value, "reason")


def person(value: str | None) -> str | None:
    """The actor in the audit."""
    return _short_text(value, "by")


def failure(message: str) -> str:
    """Why a step has failed, as the caller that finishes it says."""
    if not isinstance(message, str) or not message.strip():
        raise Refused(f"message: expected words that say why the step failed, found {shown(message)}; give a reason")
    return message


def signal_id(value: Id | None) -> str | None:
    """By which a signal that came before is known."""
    return _short_text(str(value) if isinstance(value, UUID) else value, "signal id")


def workflow_name(value: object) -> str:
    """The name of a workflow that is given itself or by name."""
    name = value.name if isinstance(value, Workflow) else value
    if not isinstance(name, str):
        raise Refused(
            f"workflow: expected what @workflow declares, or its name, found {shown(value)}; "
            + ("put @workflow above it" if inspect.isroutine(value) else "give one of them")
        )
    return name


def wanted_workflow(value: str | None) -> str | None:
    """The name of the workflow whose tasks are listed."""
    return _short_text(value, "workflow")


def wanted_label(value: tuple[str, str] | None) -> tuple[str, str] | None:
    """The label that listed tasks must have."""
    if value is None:
        return None
    if not (isinstance(value, tuple) and [type(part) for part in value] == [str, str]):
        raise Refused(f"label: expected a pair of texts, found {shown(value)}; write for example ('customer', '42')")
    _label(*value)
    return value


def listed(value: int) -> int:
    """How many tasks are listed."""
    if not isinstance(value, int) or not 1 <= value <= MOST_LISTED:
        raise Refused(f"limit: expected 1 to {MOST_LISTED:,}, found {shown(value)}; page by state, workflow or label")
    return value


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


def _label(name: object, value: object) -> None:
    _check_text(name, "labels")
    if value != "":
        _check_text(value, "labels")


def _short_text(value: str | None, what: str) -> str | None:
    if value is not None:
        _check_text(value, what)
    return value


def _check_text(value: object, what: str) -> None:
    """Checks a text from outside: short, and without characters that a database or a terminal cannot take."""
    if not isinstance(value, str) or not 0 < len(value) <= LABEL_LENGTH:
        raise Refused(f"{what}: expected 1 to {LABEL_LENGTH} characters, found {shown(value)}; give a short text")
    if UNPRINTABLE.search(value):
        raise Refused(f"{what}: expected no control characters, found {shown(value)}; leave them out")


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
