"""The tokens of a filter, each with its position; the length is bounded before anything is read."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import NamedTuple

from stepward.errors import InvalidFilter

LONGEST_FILTER = 4_000
"""Most characters of a filter."""
SHOWN = 30

PATTERN = re.compile(
    r"""\s*(?:
    (?P<text>'(?:[^']|'')*')
    | (?P<number>-?[0-9]+(?:\.[0-9]+)?(?![\w.]))
    | (?P<word>[A-Za-z_][\w.:-]*)
    | (?P<sign><=|>=|!=|<>|==|=|<|>|\(|\)|,)
    )""",
    re.VERBOSE,
)


class TokenKind(StrEnum):
    """The kind of a token."""

    TEXT = "text"
    NUMBER = "number"
    WORD = "word"
    SIGN = "sign"
    END = "end"


class FilterToken(NamedTuple):
    """A token of a filter: a quoted text without its quotes, the digits of a number, a name, or a sign."""

    kind: TokenKind
    value: str
    place: int
    """The position of its first character, from 1."""

    @property
    def shown(self) -> str:
        """The token as error messages show it."""
        if self.kind is TokenKind.END:
            return "the end"
        return f"'{cut(self.value)}'"


def cut(text: str) -> str:
    """A text of the filter as error messages show it: printable, and of bounded length."""
    shown = "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text[:SHOWN])
    return shown if len(text) <= SHOWN else f"{shown}…"


def wrong(place: int, expected: str, found: str, advice: str) -> InvalidFilter:
    """The error of a filter, in one line that names the position."""
    return InvalidFilter(f"where, character {place}: expected {expected}, found {found}; {advice}")


def tokens(text: str) -> list[FilterToken]:
    """The tokens of a filter, ending with an END. Raises InvalidFilter."""
    if not isinstance(text, str):
        raise InvalidFilter(f"where: expected a text, found {type(text).__name__}; write it like \"state = 'error'\"")
    if len(text) > LONGEST_FILTER:
        raise InvalidFilter(
            f"where: expected at most {LONGEST_FILTER:,} characters, found {len(text):,}; split the search"
        )
    found: list[FilterToken] = []
    at = 0
    while match := PATTERN.match(text, at):
        kind = TokenKind(match.lastgroup or "")
        value = match[kind.value]
        place = match.start(kind.value) + 1
        found.append(FilterToken(kind, value[1:-1].replace("''", "'") if kind is TokenKind.TEXT else value, place))
        at = match.end()
    rest = text[at:]
    if rest.strip():
        raise _unreadable(text, at + len(rest) - len(rest.lstrip()))
    found.append(FilterToken(TokenKind.END, "", len(text) + 1))
    return found


def _unreadable(text: str, at: int) -> InvalidFilter:
    if text[at] == "'":
        return wrong(at + 1, "a text that ends", f"{cut(text[at:])} without an end", "write a second '")
    if text[at] == '"':
        return wrong(at + 1, "a word", 'the sign "', "put texts into single quotes")
    return wrong(
        at + 1,
        "a word",
        f"'{cut(text[at:].split(maxsplit=1)[0])}'",
        "use names, texts in quotes, numbers, = != < > ( )",
    )
