"""Conditions on tasks as data, between the parser and the SQL builder.

A comparison with a value that a task does not have is false, so ``not (x = 1)`` and ``x != 1`` are true of that task.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from stepward.store.search.fields import SearchField

Operand = str | float | bool


class Operator(StrEnum):
    """A comparison; ``!=`` and ``not in`` are negations."""

    EQUAL = "="
    LESS = "<"
    AT_MOST = "<="
    MORE = ">"
    AT_LEAST = ">="
    STARTS_WITH = "starts_with"


class Comparison(Struct, frozen=True):
    """A comparison of a field with a value."""

    field: SearchField
    operator: Operator
    value: Operand
    """The value; for a time, seconds of the store's clock."""
    name: str = ""
    """The name of the label or the attribute."""
    instant: float | None = None
    """The instant of a text that is written as a time, for attributes of that type."""


class Presence(Struct, frozen=True):
    """The task has a value in the field."""

    field: SearchField
    name: str = ""


class AllOf(Struct, frozen=True):
    """Every part holds; without parts it is true of every task."""

    parts: tuple[Condition, ...]


class AnyOf(Struct, frozen=True):
    """At least one part holds."""

    parts: tuple[Condition, ...]


class Negation(Struct, frozen=True):
    """The part does not hold."""

    part: Condition


Condition = Comparison | Presence | AllOf | AnyOf | Negation

EVERY_TASK = AllOf(())


def conjuncts(condition: Condition) -> list[Condition]:
    """The parts that must all hold."""
    if isinstance(condition, AllOf):
        return [conjunct for part in condition.parts for conjunct in conjuncts(part)]
    return [condition]


def both(first: Condition, second: Condition) -> Condition:
    """The condition that both parts hold."""
    return AllOf((*conjuncts(first), *conjuncts(second)))
