"""Filters as text: a total grammar of comparisons joined by and, or, not. It is data and never evaluated as code.

filter     = all { "or" all }
all        = single { "and" single }
single     = "not" single | "(" filter ")" | field test
test       = ( "=" | "!=" | "<" | "<=" | ">" | ">=" | "starts_with" ) value
           | ["not"] "in" "(" value { "," value } ")" | "is" ["not"] "null"
"""

from __future__ import annotations

from stepward.store.search.conditions import (
    EVERY_TASK,
    AllOf,
    AnyOf,
    Comparison,
    Condition,
    Negation,
    Operator,
    Presence,
)
from stepward.store.search.fields import FieldKind, SearchField, kind_of
from stepward.store.search.lexer import FilterToken, TokenKind, tokens, wrong
from stepward.store.search.operands import FieldRef, field_of, nearest, operand

DEEPEST = 20
"""Most levels of parentheses and negations."""
MOST_COMPARISONS = 100
OPERATORS = {"==": Operator.EQUAL, **{operator.value: operator for operator in Operator}}
UNEQUAL = ("!=", "<>")
WORDS_OF_TESTS = ("=", "!=", "<", "<=", ">", ">=", "starts_with", "in", "not in", "is null", "is not null")
ORDERED = frozenset({FieldKind.NUMBER, FieldKind.TIME, FieldKind.ANY})


def parsed(text: str, now: float) -> Condition:
    """The condition of a filter; an empty filter is true of every task. Raises InvalidFilter.

    ``now`` is the store's clock, to which relative times refer.
    """
    reader = _Reader(tokens(text), now)
    if reader.is_at_end():
        return EVERY_TASK
    condition = reader.any_of(0)
    if not reader.is_at_end():
        raise reader.unexpected("and, or, or the end", nearest(reader.ahead.value, ("and", "or")))
    return condition


class _Reader:
    """Reads tokens from left to right, one ahead."""

    def __init__(self, found: list[FilterToken], now: float) -> None:
        self._tokens = found
        self._at = 0
        self._now = now
        self._comparisons = 0

    @property
    def ahead(self) -> FilterToken:
        return self._tokens[self._at]

    def is_at_end(self) -> bool:
        return self.ahead.kind is TokenKind.END

    def any_of(self, depth: int) -> Condition:
        parts = [self._all_of(depth)]
        while self._takes("or"):
            parts.append(self._all_of(depth))
        return parts[0] if len(parts) == 1 else AnyOf(tuple(parts))

    def unexpected(self, expected: str, advice: str = "") -> Exception:
        return wrong(self.ahead.place, expected, self.ahead.shown, advice or "see docs/search.md for the form")

    def _all_of(self, depth: int) -> Condition:
        parts = [self._single(depth)]
        while self._takes("and"):
            parts.append(self._single(depth))
        return parts[0] if len(parts) == 1 else AllOf(tuple(parts))

    def _single(self, depth: int) -> Condition:
        if depth > DEEPEST:
            raise self.unexpected(f"at most {DEEPEST} levels of parentheses and negations", "write it flatter")
        if self._takes("not"):
            return Negation(self._single(depth + 1))
        if self._takes("("):
            inner = self.any_of(depth + 1)
            self._expect(")", "close the parenthesis")
            return inner
        return self._test(field_of(self._next(), self.unexpected))

    def _test(self, ref: FieldRef) -> Condition:
        sign = self.ahead
        if self._takes("is"):
            negated = self._takes("not")
            self._expect("null", "write is null or is not null")
            return _negated(Presence(ref.field, ref.name), not negated)
        if self._takes("not"):
            self._expect("in", "write not in (…)")
            return Negation(self._one_of(ref))
        if self._takes("in"):
            return self._one_of(ref)
        if sign.value.lower() in UNEQUAL and sign.kind is TokenKind.SIGN:
            self._at += 1
            return Negation(self._comparison(ref, Operator.EQUAL))
        operator = OPERATORS.get(sign.value.lower()) if sign.kind in (TokenKind.SIGN, TokenKind.WORD) else None
        if operator is None:
            raise self.unexpected(
                f"a comparison of {ref.shown}", nearest(sign.value, WORDS_OF_TESTS) or "use one of = != < <= > >="
            )
        _check_operator(ref, operator, sign)
        self._at += 1
        return self._comparison(ref, operator)

    def _one_of(self, ref: FieldRef) -> Condition:
        self._expect("(", "write in ('a', 'b')")
        parts = [self._comparison(ref, Operator.EQUAL)]
        while self._takes(","):
            parts.append(self._comparison(ref, Operator.EQUAL))
        self._expect(")", "close the list")
        return parts[0] if len(parts) == 1 else AnyOf(tuple(parts))

    def _comparison(self, ref: FieldRef, operator: Operator) -> Comparison:
        self._comparisons += 1
        if self._comparisons > MOST_COMPARISONS:
            raise self.unexpected(f"at most {MOST_COMPARISONS} comparisons", "split the search")
        token = self._next()
        value, instant = operand(ref, operator, token, self._now)
        return Comparison(ref.field, operator, value, ref.name, instant)

    def _next(self) -> FilterToken:
        token = self.ahead
        if token.kind is not TokenKind.END:
            self._at += 1
        return token

    def _takes(self, word: str) -> bool:
        token = self.ahead
        if token.kind not in (TokenKind.WORD, TokenKind.SIGN) or token.value.lower() != word:
            return False
        self._at += 1
        return True

    def _expect(self, word: str, advice: str) -> None:
        if not self._takes(word):
            raise self.unexpected(f"'{word}'", advice)


def _negated(condition: Condition, negate: bool) -> Condition:
    return Negation(condition) if negate else condition


def _check_operator(ref: FieldRef, operator: Operator, sign: FilterToken) -> None:
    kind = kind_of(ref.field)
    if operator is Operator.EQUAL or kind is FieldKind.ANY:
        return
    if operator is Operator.STARTS_WITH:
        if kind is not FieldKind.TEXT:
            raise wrong(sign.place, f"= != in, or an order for {ref.shown}", "starts_with", "only texts start with one")
    elif kind not in ORDERED:
        advice = "use starts_with" if ref.field is not SearchField.STATE else "list the states: in ('error', 'undone')"
        raise wrong(sign.place, f"= != in or is null for {ref.shown}", f"'{sign.value}'", advice)
