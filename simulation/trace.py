"""The events of a run, in order: the fingerprint of a seed and the timeline of a failure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from hashlib import sha256
from typing import Any

TIMELINE = 60
STALL = "stall at a failpoint"
HANG = "workflow code hangs"
FLAG_TURNED = "flag turned"
STANDING = frozenset({f"fault {STALL}", f"fault {HANG}"})
"""Faults in which a process stands still; the third detail is for how many seconds."""


class Trace:
    """Lines of (instant, what, details), and what was counted."""

    def __init__(self, now: Callable[[], float], broken: Callable[[], None]) -> None:
        self._now = now
        self._broken = broken
        self.lines: list[tuple[float, str, tuple[Any, ...]]] = []
        self.faults: Counter[str] = Counter()
        """Faults that were delivered, by kind."""
        self.situations: Counter[str] = Counter()
        """Situations that a good set of seeds reaches sometimes."""
        self.violations: list[str] = []

    def note(self, what: str, *details: Any) -> None:
        """Add a line."""
        self.lines.append((self._now(), what, details))

    def fault(self, kind: str, *details: Any) -> None:
        """A fault was delivered."""
        self.faults[kind] += 1
        self.note(f"fault {kind}", *details)

    def reached(self, situation: str) -> None:
        """A situation was reached."""
        self.situations[situation] += 1

    def seconds_since_stall(self) -> float:
        """How long no process has stood still in the middle of what it does."""
        ends = (at + details[2] for at, what, details in self.lines if what in STANDING)
        return self._now() - max(ends, default=0.0)

    def violated(self, invariant: str, message: str) -> None:
        """An invariant was found broken; the run ends soon."""
        self.note("VIOLATION", invariant, message)
        self.violations.append(f"{invariant}: {message}")
        self._broken()

    def fingerprint(self) -> str:
        """The same for the same seed, in every process."""
        digest = sha256()
        for line in self.lines:
            digest.update(repr(line).encode())
        return digest.hexdigest()

    def timeline(self, word: str | None) -> list[str]:
        """The last lines that name ``word`` (a task's uid or id), or of all."""
        chosen = [line for line in self.lines if word is None or word in repr(line) or line[1] == "VIOLATION"]
        return [f"{at:9.3f}  {what}  {' '.join(map(str, details))}" for at, what, details in chosen[-TIMELINE:]]
