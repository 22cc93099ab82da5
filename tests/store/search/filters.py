"""Random filters, each as its text and as what it means in Python, beside the SQL that a store makes of it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from hypothesis import strategies as some

from stepward.model.records import Step, Task
from stepward.model.states import StepState, TaskState
from stepward.payload import readable

Predicate = Callable[["Searched"], bool]
NOW = 1_700_000_000.0
DATE = "2023-11-14"
"""The day of NOW; as an instant, its beginning."""
DATE_AT = 1_699_920_000.0
OPEN = (StepState.RUNNING, StepState.NOT_STARTED, StepState.TO_REPEAT, StepState.FAILED)
ORDERS = {"=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


class Searched(NamedTuple):
    """A task with its steps."""

    task: Task
    steps: list[Step]

    @property
    def open_steps(self) -> list[Step]:
        if self.task.state in (TaskState.PROCESSED, TaskState.UNDONE, TaskState.CANCELLED):
            return []
        return [step for step in self.steps if step.state in OPEN and step.set_aside_at is None]

    def named(self, kind: str, name: str) -> Any:
        found = readable(self.task.labels if kind == "label" else self.task.attributes)
        return found.get(name)


class Filter(NamedTuple):
    """What a filter says and means."""

    text: str
    means: Predicate


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _error_type(searched: Searched) -> Any:
    found = readable(searched.task.error)
    named = found.get("type") if isinstance(found, dict) else None
    return named if isinstance(named, str) else None


TEXTS: dict[str, tuple[Callable[[Searched], Iterable[Any]], list[str]]] = {
    "id": (lambda s: [s.task.id], ["a-0", "a-1", "a-17", "b-2", "none"]),
    "workflow": (lambda s: [s.task.workflow], ["order", "refund", "%", "or"]),
    "version": (lambda s: [s.task.version], ["1", "2"]),
    "error.type": (lambda s: [_error_type(s)], ["Declined", "Timeout", "5"]),
    "agent": (lambda s: [step.agent for step in s.open_steps], ["pay", "ship", "p"]),
    "step": (
        lambda s: [each for step in s.open_steps for each in (step.name, step.key)],
        ["charge", "charge/1", "pack"],
    ),
    "label.city": (lambda s: [s.named("label", "city")], ["Ulm", "Bonn", "O'Hare", "\U0010ffff", ""]),
}


def _any(values: Iterable[Any], test: Callable[[Any], bool]) -> bool:
    return any(test(value) for value in values if value is not None)


@some.composite
def texts(draw: some.DrawFn) -> Filter:
    field = draw(some.sampled_from(sorted(TEXTS)))
    of, known = TEXTS[field]
    value = draw(some.sampled_from(known))
    match draw(some.sampled_from(["=", "!=", "in", "not in", "starts_with", "is null", "is not null"])):
        case "=":
            return Filter(f"{field} = {quoted(value)}", lambda s: _any(of(s), lambda each: each == value))
        case "!=":
            return Filter(f"{field}!={quoted(value)}", lambda s: not _any(of(s), lambda each: each == value))
        case "in":
            more = draw(some.lists(some.sampled_from(known), max_size=3))
            listed = ", ".join(map(quoted, [value, *more]))
            return Filter(f"{field} in ({listed})", lambda s: _any(of(s), lambda each: each in (value, *more)))
        case "not in":
            return Filter(f"{field} not in ({quoted(value)})", lambda s: not _any(of(s), lambda each: each == value))
        case "starts_with":
            return Filter(
                f"{field} STARTS_WITH {quoted(value)}", lambda s: _any(of(s), lambda each: str(each).startswith(value))
            )
        case "is null":
            return Filter(f"{field} is null", lambda s: not _any(of(s), lambda each: True))
        case _:
            return Filter(f"{field} is not null", lambda s: _any(of(s), lambda each: True))


NUMBERS: dict[str, tuple[Callable[[Searched], Any], list[tuple[str, float]]]] = {
    "priority": (lambda s: s.task.priority, [("5", 5), ("0", 0), ("9", 9), ("-1.5", -1.5)]),
    "failures": (lambda s: s.task.failure_count, [("0", 0), ("2", 2)]),
    "created": (lambda s: s.task.created_at, [("'30m ago'", NOW - 1800), ("'1h 5m ago'", NOW - 3900), ("now", NOW)]),
    "ended": (lambda s: s.task.finished_at, [("'10m ago'", NOW - 600), (quoted(f"{DATE}T22:00:00Z"), NOW - 800)]),
    "deadline": (lambda s: s.task.deadline, [("'in 1h'", NOW + 3600), ("'now'", NOW)]),
}


@some.composite
def numbers(draw: some.DrawFn) -> Filter:
    field = draw(some.sampled_from(sorted(NUMBERS)))
    of, known = NUMBERS[field]
    written, value = draw(some.sampled_from(known))
    sign = draw(some.sampled_from(sorted(ORDERS)))
    if sign == "!=":
        return Filter(f"{field} != {written}", lambda s: of(s) is None or of(s) != value)
    return Filter(f"{field} {sign} {written}", lambda s: of(s) is not None and ORDERS[sign](of(s), value))


def _matches(found: Any, sign: str, value: Any, instant: float | None) -> bool:
    """As a typed attribute compares: a value of another type never does."""
    if isinstance(found, dict):
        return instant is not None and bool(ORDERS[sign](found["time"], instant))
    if isinstance(found, bool) is not isinstance(value, bool) or isinstance(found, str) is not isinstance(value, str):
        return False
    return found is not None and bool(ORDERS[sign](found, value))


VALUES: list[tuple[str, Any, float | None]] = [
    ("'alice'", "alice", None),
    ("'bob'", "bob", None),
    (quoted(DATE), DATE, DATE_AT),
    ("3", 3.0, None),
    ("2.5", 2.5, None),
    ("true", True, None),
    ("FALSE", False, None),
]


@some.composite
def attributes(draw: some.DrawFn) -> Filter:
    name = draw(some.sampled_from(["x", "y", "none"]))
    written, value, instant = draw(some.sampled_from(VALUES))
    sign = draw(some.sampled_from(sorted(ORDERS)))
    if sign == "!=":
        return Filter(f"attr.{name} != {written}", lambda s: not _matches(s.named("attr", name), "=", value, instant))
    return Filter(f"attr.{name} {sign} {written}", lambda s: _matches(s.named("attr", name), sign, value, instant))


@some.composite
def states(draw: some.DrawFn) -> Filter:
    wanted = draw(some.lists(some.sampled_from(sorted(TaskState)), min_size=1, max_size=3))
    if len(wanted) == 1:
        return Filter(f"state = {quoted(wanted[0])}", lambda s: s.task.state == wanted[0])
    return Filter(f"state in ({', '.join(map(quoted, wanted))})", lambda s: s.task.state in wanted)


def _joined(parts: list[Filter]) -> some.SearchStrategy[Filter]:
    return some.sampled_from(
        [
            Filter(" and ".join(f"({p.text})" for p in parts), lambda s: all(p.means(s) for p in parts)),
            Filter(" OR ".join(f"({p.text})" for p in parts), lambda s: any(p.means(s) for p in parts)),
            Filter(f"not ({parts[0].text})", lambda s: not parts[0].means(s)),
        ]
    )


LEAVES = some.one_of(texts(), numbers(), attributes(), states())
FILTERS = some.recursive(LEAVES, lambda inner: some.lists(inner, min_size=1, max_size=3).flatmap(_joined), max_leaves=6)
