"""What a submission must be like: every argument checked before anything is written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from stepward.durations import LONGEST, Duration, seconds, shown
from stepward.errors import InvalidDuration, InvalidId, Refused, UnknownWorkflow
from stepward.model.records import PRIORITIES
from stepward.payload import encode
from stepward.workflow.definition import Workflow

ID = re.compile(r"[A-Za-z0-9._:@-]{1,200}")
APP = re.compile(r"[A-Za-z0-9_-]{1,100}")
MOST_LABELS = 20
LABEL_LENGTH = 200
UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
"""Control characters, of which PostgreSQL refuses NUL, and halves of characters, which are no UTF-8."""
MOST_LISTED = 10_000


def task_id(id: str) -> str:
    """An id that callers may give. Raises InvalidId."""
    if not isinstance(id, str) or not ID.fullmatch(id):
        raise InvalidId(f"id: expected 1 to 200 of A-Z a-z 0-9 . _ : @ -, found {str(id)[:60]!r}; choose another")
    return id


def priority(value: int) -> int:
    """0 (last) to 9 (first)."""
    if not isinstance(value, int) or isinstance(value, bool) or value not in PRIORITIES:
        raise Refused(f"priority: expected 0 (last) to 9 (first), found {shown(value)}; give a number")
    return value


def labels(value: Mapping[str, str] | None) -> bytes:
    """A few short texts by which tasks are found."""
    given: object = {} if value is None else value
    fits = isinstance(given, Mapping) and len(given) <= MOST_LABELS
    if not fits or not all(_is_short(k) and (v == "" or _is_short(v)) for k, v in dict(value or {}).items()):
        raise Refused(f"labels: expected at most {MOST_LABELS} texts of {LABEL_LENGTH} characters by name")
    return encode(dict(value or {}), "labels")


def app_name(name: str) -> str:
    """The name of an application, whose store and queues these are."""
    if not isinstance(name, str) or not APP.fullmatch(name):
        raise Refused(f"app: expected a name of 1 to 100 of A-Z a-z 0-9 _ -, found {name!r:.80}")
    return name


def reply_queue(queue: str | None, app: str) -> str | None:
    """Where word of a task goes, if anywhere."""
    return None if queue is None else own_queue(queue, app)


def own_queue(queue: str, app: str) -> str:
    """A private response queue, which lives under ``replies.<app>.``"""
    own = rf"replies\.{re.escape(app)}\.[A-Za-z0-9_.-]{{1,100}}"
    if not isinstance(queue, str) or not re.fullmatch(own, queue):
        raise Refused(f"reply_to: expected replies.{app}.NAME, found {str(queue)[:80]!r}; name one of this app's")
    return queue


def fairness_key(value: str | None) -> str | None:
    """What tasks are kept fair between: a tenant, a customer."""
    return _short_text(value, "fairness_key")


def person(value: str | None) -> str | None:
    """Who acts, for the audit."""
    return _short_text(value, "by")


def failure(message: str) -> str:
    """Why a step has failed, in the words of whoever finishes it."""
    if not isinstance(message, str) or not message.strip():
        raise Refused(f"message: expected words that say why the step failed, found {shown(message)}; give a reason")
    return message


def signal_id(value: str | None) -> str | None:
    """By which a signal that came before is known."""
    return _short_text(value, "signal id")


def workflow_name(value: object) -> str:
    """The name of a workflow that is given itself or by name."""
    name = value.name if isinstance(value, Workflow) else value
    if not isinstance(name, str):
        raise Refused(
            f"workflow: expected what @workflow declares, or its name, found {shown(value)}; give one of them"
        )
    return name


def wanted_label(value: tuple[str, str] | None) -> tuple[str, str] | None:
    """The label that listed tasks must have."""
    if value is not None and not (isinstance(value, tuple) and [type(part) for part in value] == [str, str]):
        raise Refused(f"label: expected a pair of texts, found {shown(value)}; write for example ('customer', '42')")
    return value


def listed(value: int) -> int:
    """How many tasks are listed."""
    if not isinstance(value, int) or not 1 <= value <= MOST_LISTED:
        raise Refused(f"limit: expected 1 to {MOST_LISTED:,}, found {shown(value)}; page by state, workflow or label")
    return value


def deadline(value: datetime | Duration | None, default: float | None, now: float) -> float | None:
    """A complete-by as an instant of the store's clock: a duration from now, or an aware datetime."""
    if value is None:
        return None if default is None else now + default
    if not isinstance(value, datetime):
        return now + seconds(value, "complete_by")
    if value.tzinfo is None:
        raise InvalidDuration(f"complete_by: expected a datetime with a time zone, found {value}; give it one")
    instant = value.timestamp()
    if instant <= now:
        raise InvalidDuration(
            f"complete_by: expected an instant to come, found {value.isoformat()}, which was "
            f"{timedelta(seconds=round(now - instant))} ago"
        )
    if instant > now + LONGEST:
        raise InvalidDuration(f"complete_by: expected at most 3650 days from now, found {value.isoformat()}")
    return instant


def by_declaration(workflow: Workflow[Any, Any], args: tuple[Any, ...], kwargs: Mapping[str, Any], limit: int) -> bytes:
    """The argument array, checked against the workflow's own signature."""
    data = workflow.signature.pack(args, kwargs, limit=limit)
    workflow.signature.unpack(data)
    return data


def _short_text(value: str | None, what: str) -> str | None:
    if value is None:
        return None
    if not _is_short(value):
        raise Refused(f"{what}: expected 1 to {LABEL_LENGTH} characters, found {shown(value)}; give a short text")
    if UNPRINTABLE.search(value):
        raise Refused(f"{what}: expected no control characters, found {shown(value)}; leave them out")
    return value


def _is_short(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= LABEL_LENGTH


def unknown(name: str, known: list[str]) -> UnknownWorkflow:
    """The refusal of a workflow that nobody registered."""
    names = ", ".join(sorted(set(known))) or "none; start a Scheduler of the application first"
    return UnknownWorkflow(f"workflow {name[:100]!r}: expected a registered one, found no such; known: {names}")
