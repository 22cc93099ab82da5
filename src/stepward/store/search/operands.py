"""Fields and values of a filter, each checked against the field's type."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

from stepward.model.states import TaskState
from stepward.model.tasks.control_characters import UNPRINTABLE
from stepward.store.search.conditions import Operand, Operator
from stepward.store.search.fields import NAMED, FieldKind, SearchField, kind_of
from stepward.store.search.instants import instant
from stepward.store.search.lexer import FilterToken, TokenKind, cut, wrong

LONGEST_VALUE = 200
BOOLEANS = {"true": True, "false": False}
LARGEST = 2.0**53


class FieldRef(NamedTuple):
    """A field as a filter names it."""

    field: SearchField
    name: str = ""

    @property
    def shown(self) -> str:
        """The text that names the field in the filter."""
        return f"{self.field}.{cut(self.name)}" if self.name else self.field.value


def nearest(word: str, known: Iterable[str]) -> str:
    """The advice to use the known word that is most similar; empty if none is."""
    found = difflib.get_close_matches(word[:LONGEST_VALUE].lower(), list(known), n=1)
    return f"did you mean '{found[0]}'?" if found else ""


def field_of(token: FilterToken, unexpected: Callable[[str], Exception]) -> FieldRef:
    """The field that a name stands for. Raises InvalidFilter, which proposes the nearest name."""
    if token.kind is TokenKind.END:
        raise unexpected("a field")
    scope, point, name = token.value.partition(".")
    if token.kind is TokenKind.WORD:
        if scope in NAMED and point and name:
            return FieldRef(SearchField(scope), name)
        if token.value in set(SearchField) - set(NAMED):
            return FieldRef(SearchField(token.value))
    known = [f"{field}.NAME" if field in NAMED else field.value for field in SearchField]
    raise wrong(
        token.place, "a field", token.shown, nearest(token.value, known) or f"the fields are {', '.join(known)}"
    )


def operand(ref: FieldRef, operator: Operator, token: FilterToken, now: float) -> tuple[Operand, float | None]:
    """The value of a comparison, and the instant of a text that is written as one. Raises InvalidFilter."""
    kind = kind_of(ref.field)
    if kind is FieldKind.TIME:
        return _time(ref, token, now), None
    if kind is FieldKind.NUMBER:
        return _number(ref, token, kind), None
    if kind is FieldKind.ANY:
        return _any(ref, operator, token, now)
    value = _text(ref, token, kind)
    if kind is FieldKind.STATE and value not in set(TaskState):
        advice = nearest(value, TaskState) or f"the states are {', '.join(TaskState)}"
        raise wrong(token.place, "a state", f"'{cut(value)}'", advice)
    return value, None


def _text(ref: FieldRef, token: FilterToken, kind: FieldKind) -> str:
    if token.kind is not TokenKind.TEXT:
        advice = f"write '{cut(token.value)}'" if token.kind in (TokenKind.WORD, TokenKind.NUMBER) else "write a text"
        raise wrong(token.place, f"{kind} for {ref.shown}", token.shown.strip("'"), advice)
    if len(token.value) > LONGEST_VALUE:
        raise wrong(token.place, f"at most {LONGEST_VALUE} characters", f"{len(token.value):,}", "shorten the text")
    if UNPRINTABLE.search(token.value):
        raise wrong(token.place, "no control characters", token.shown, "leave them out")
    return token.value


def _number(ref: FieldRef, token: FilterToken, kind: FieldKind) -> float:
    if token.kind is not TokenKind.NUMBER:
        raise wrong(token.place, f"{kind} for {ref.shown}", token.shown, "write digits without quotes")
    value = float(token.value)
    if not math.isfinite(value) or abs(value) > LARGEST:
        raise wrong(token.place, "a number of at most 2^53", token.shown, "write a smaller one")
    return value


def _time(ref: FieldRef, token: FilterToken, now: float) -> float:
    if token.kind is TokenKind.NUMBER:
        return _number(ref, token, FieldKind.TIME)
    at = instant(token.value, now) if token.kind is TokenKind.TEXT or token.value == "now" else None
    if at is None:
        raise wrong(token.place, f"{FieldKind.TIME} for {ref.shown}", token.shown, "write it in one of these forms")
    return at


def _any(ref: FieldRef, operator: Operator, token: FilterToken, now: float) -> tuple[Operand, float | None]:
    if operator is Operator.STARTS_WITH:
        return _text(ref, token, FieldKind.TEXT), None
    if token.kind is TokenKind.WORD and token.value.lower() in BOOLEANS:
        return BOOLEANS[token.value.lower()], None
    if token.kind is TokenKind.NUMBER:
        return _number(ref, token, FieldKind.ANY), None
    text = _text(ref, token, FieldKind.ANY)
    return text, instant(text, now)
