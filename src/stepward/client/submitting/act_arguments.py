"""Checks of the arguments of calls about tasks that exist: who acts and why, what is looked for and listed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any, TypeVar
from uuid import UUID

from stepward.client.submitting.submission_checks import Id, check_label, short_text
from stepward.durations import shown
from stepward.errors import Refused

Word = TypeVar("Word", bound=StrEnum)
APP = re.compile(r"[A-Za-z0-9_-]{1,100}")
MOST_LISTED = 10_000


def one_of(kind: type[Word], value: object, what: str) -> Word | None:
    """One of a few words, or None."""
    if value is None:
        return None
    try:
        return kind(str(value))
    except ValueError:
        raise Refused(f"{what}: expected one of {', '.join(kind)}, found {value!r:.60}; use one of them") from None


def app_name(name: str) -> str:
    """The name of an application, whose store and queues these are."""
    if not isinstance(name, str) or not APP.fullmatch(name):
        raise Refused(f"app: expected a name of 1 to 100 of A-Z a-z 0-9 _ -, found {name!r:.80}")
    return name


def note(value: str | None) -> str | None:
    """Why an operator does something, for the audit."""
    return short_text(value, "note")


def reason(value: str | None) -> str | None:
    """Why an actor asks for something, for the audit."""
    return short_text(value, "reason")


def person(value: str | None) -> str | None:
    """The actor in the audit."""
    return short_text(value, "by")


def failure(message: str) -> str:
    """Why a step has failed, as the caller that finishes it says."""
    if not isinstance(message, str) or not message.strip():
        raise Refused(f"message: expected words that say why the step failed, found {shown(message)}; give a reason")
    return message


def signal_id(value: Id | None) -> str | None:
    """By which a signal that came before is known."""
    return short_text(str(value) if isinstance(value, UUID) else value, "signal id")


def wanted_workflow(value: str | None) -> str | None:
    """The name of the workflow whose tasks are listed."""
    return short_text(value, "workflow")


def wanted_label(value: tuple[str, str] | None) -> tuple[str, str] | None:
    """The label that listed tasks must have."""
    if value is None:
        return None
    if not (isinstance(value, tuple) and [type(part) for part in value] == [str, str]):
        raise Refused(f"label: expected a pair of texts, found {shown(value)}; write for example ('customer', '42')")
    check_label(*value)
    return value


def rows(arguments: object, ids: object) -> None:
    """The arguments of several submissions, and their ids."""
    if isinstance(arguments, str | bytes) or not isinstance(arguments, Iterable):
        raise Refused(f"arguments: expected a list of tuples, found {shown(arguments)}; give one tuple for each task")
    if isinstance(ids, str):
        raise Refused(f"ids: expected a list, found {shown(ids)}; write [ ] around it")


def row(arguments: Sequence[Any]) -> tuple[Any, ...]:
    """The arguments of one of several submissions."""
    if not isinstance(arguments, tuple | list):
        raise Refused(f"arguments: expected a tuple for each task, found {shown(arguments)}; write (…,) around it")
    return tuple(arguments)


def listed(value: int, otherwise: str = "page by state, workflow or label") -> int:
    """How many tasks or other records are listed; ``otherwise`` says how to find more."""
    if not isinstance(value, int) or not 1 <= value <= MOST_LISTED:
        raise Refused(f"limit: expected 1 to {MOST_LISTED:,}, found {shown(value)}; {otherwise}")
    return value
