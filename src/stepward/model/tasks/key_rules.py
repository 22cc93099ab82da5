"""Rules for submissions of one workflow that have a key in common: what becomes of one while another is there."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from stepward.durations import Duration, seconds, shown
from stepward.errors import Refused

PREDECESSOR = "predecessor"
"""What a task waits for that replaces another: that it has ended."""
KEY_LENGTH = 200
MOST_COLLECTED = 1_000
"""Most submissions that one task gathers."""
UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
IfRunning = Literal["refuse", "join", "replace"]
IfTooSoon = Literal["refuse", "join"]


@dataclass(frozen=True, slots=True)
class Singleton:
    """At most one task of the workflow and key that has not ended.

    ``if_running`` says what a submission does while there is one: ``"refuse"`` raises TaskConflict, which names it;
    ``"join"`` starts nothing and gives its handle; ``"replace"`` cancels it, undoing what it did, and starts once it
    has ended.
    """

    key: str
    if_running: IfRunning = field(default="refuse", kw_only=True)

    def __post_init__(self) -> None:
        _check_key("Singleton", self.key)
        _check_word("Singleton.if_running", self.if_running, IfRunning)


@dataclass(frozen=True, slots=True)
class Debounce:
    """Starts once no submission of the workflow and key has come for ``wait``, with the arguments of the last.

    Each submission moves the start of the task that waits, at most to ``latest`` after the first one.
    """

    key: str
    wait: Duration = field(kw_only=True, compare=False)
    latest: Duration = field(kw_only=True, compare=False)
    wait_seconds: float = field(init=False)
    latest_seconds: float = field(init=False)

    def __post_init__(self) -> None:
        _check_key("Debounce", self.key)
        object.__setattr__(self, "wait_seconds", seconds(self.wait, "Debounce.wait"))
        object.__setattr__(self, "latest_seconds", seconds(self.latest, "Debounce.latest"))
        if self.latest_seconds < self.wait_seconds:
            raise Refused(f"Debounce.latest: expected at least wait, {shown(self.wait)}, found {shown(self.latest)}")


@dataclass(frozen=True, slots=True)
class Throttle:
    """At most one task of the workflow and key is submitted within ``every``.

    ``if_too_soon`` says what another submission does: ``"refuse"`` raises TaskConflict, which names the task;
    ``"join"`` starts nothing and gives its handle, whether it has ended or not.
    """

    key: str
    every: Duration = field(kw_only=True, compare=False)
    if_too_soon: IfTooSoon = field(default="refuse", kw_only=True)
    every_seconds: float = field(init=False)

    def __post_init__(self) -> None:
        _check_key("Throttle", self.key)
        _check_word("Throttle.if_too_soon", self.if_too_soon, IfTooSoon)
        object.__setattr__(self, "every_seconds", seconds(self.every, "Throttle.every"))


@dataclass(frozen=True, slots=True)
class Collect:
    """Gathers submissions of the workflow and key into one task, whose argument is the list of theirs.

    It starts once it has ``size`` of them, or ``within`` after the first one. Each submission gives a list, mostly of
    one item.
    """

    key: str
    size: int = field(default=100, kw_only=True)
    within: Duration = field(kw_only=True, compare=False)
    within_seconds: float = field(init=False)

    def __post_init__(self) -> None:
        _check_key("Collect", self.key)
        if not isinstance(self.size, int) or isinstance(self.size, bool) or not 2 <= self.size <= MOST_COLLECTED:
            raise Refused(f"Collect.size: expected 2 to {MOST_COLLECTED:,}, found {shown(self.size)}; give a number")
        object.__setattr__(self, "within_seconds", seconds(self.within, "Collect.within"))


KeyRule = Singleton | Debounce | Throttle | Collect
CHANGING = (Debounce, Collect)
"""The rules under which a submission changes the arguments of a task that is there."""


def checked_rule(rule: object) -> KeyRule | None:
    """A rule, or None. Raises Refused for anything else."""
    if rule is None or isinstance(rule, KeyRule):
        return rule
    raise Refused(
        f"per_key: expected Singleton(…), Debounce(…), Throttle(…) or Collect(…), found {shown(rule)}; pass one"
    )


def check_size_under_rule(rule: KeyRule | None, *, is_large: bool) -> None:
    """Raises Refused for large arguments, kept outside the store for one task, that may come to be another task's."""
    if is_large and isinstance(rule, CHANGING):
        raise Refused(
            f"per_key: expected arguments with {type(rule).__name__} that the store keeps itself, found large ones; "
            "pass a reference in their place"
        )


def _check_key(what: str, key: object) -> None:
    if not isinstance(key, str) or not 0 < len(key) <= KEY_LENGTH:
        raise Refused(f"{what}.key: expected 1 to {KEY_LENGTH} characters, found {shown(key)}; give a short text")
    if UNPRINTABLE.search(key):
        raise Refused(f"{what}.key: expected no control characters, found {shown(key)}; leave them out")


def _check_word(what: str, word: object, words: Any) -> None:
    if word not in get_args(words):
        raise Refused(f"{what}: expected one of {', '.join(get_args(words))}, found {shown(word)}; use one of them")
