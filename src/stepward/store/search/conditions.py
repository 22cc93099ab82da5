"""Conditions on tasks as data: what the parser makes of a text, and the SQL builder reads.

A comparison with something that a task does not have is false, so ``not (x = 1)`` and ``x != 1`` are true of it.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from stepward.store.search.fields import SearchField

Operand = str | float | bool


class Operator(StrEnum):
    """How a field is compared; ``!=`` and ``not in`` are negations."""

    EQUAL = "="
    LESS = "<"
    AT_MOST = "<="
    MORE = ">"
    AT_LEAST = ">="
    STARTS_WITH = "starts_with"


class Comparison(Struct, frozen=True):
    """A field against a value."""

    field: SearchField
    operator: Operator
    value: Operand
    """For a time, seconds of the store's clock."""
    name: str = ""
    """Of the label or the attribute."""
    instant: float | None = None
    """What a text that is written as a time means, for attributes of that type."""


class Presence(Struct, frozen=True):
    """A task has the field at all."""

    field: SearchField
    name: str = ""


class AllOf(Struct, frozen=True):
    """Every part holds; none is true of every task."""

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
    """The parts all of which must hold."""
    if isinstance(condition, AllOf):
        return [each for part in condition.parts for each in conjuncts(part)]
    return [condition]


def both(first: Condition, second: Condition) -> Condition:
    """The condition that both hold."""
    return AllOf((*conjuncts(first), *conjuncts(second)))
