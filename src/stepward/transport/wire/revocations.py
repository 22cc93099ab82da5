"""Revocations that a process has heard: a request that waits at a broker meanwhile is answered when it is taken."""

from __future__ import annotations

from collections.abc import Sequence

from stepward.model.messages.requests import Request

MOST_REMEMBERED = 10_000
"""Steps whose revocation is remembered, the last ones; requests of others are done, and their outcome is undone."""
MOST_OWN = 1_000
"""Of one queue, those of this process that Agents which come later are told."""

RevokedStep = tuple[str, int, str]
"""Task, run and key."""


class Revocations:
    """By step the last attempt that was revoked: a later one is wanted."""

    def __init__(self) -> None:
        self._attempts: dict[RevokedStep, int] = {}

    def note(self, task: str, run: int, key: str, attempt: int) -> None:
        """That attempt of the step is revoked, and those before it."""
        step = task, run, key
        self._attempts[step] = max(attempt, self._attempts.pop(step, 0))
        if len(self._attempts) > MOST_REMEMBERED:
            del self._attempts[next(iter(self._attempts))]

    def covers(self, request: Request) -> bool:
        """Whether nobody waits for that request any more."""
        return request.attempt <= self._attempts.get((request.task, request.run, request.key), 0)


class OwnRevocations:
    """What this process revoked, by queue, the last ones."""

    def __init__(self) -> None:
        self._steps: dict[str, dict[RevokedStep, int]] = {}

    def note(self, queue: str, task: str, run: int, key: str, attempt: int) -> None:
        """That attempt of the step is revoked, and those before it."""
        steps = self._steps.setdefault(queue, {})
        steps.pop((task, run, key), None)
        steps[task, run, key] = attempt
        if len(steps) > MOST_OWN:
            del steps[next(iter(steps))]

    def of(self, queue: str) -> Sequence[tuple[RevokedStep, int]]:
        """Those of a queue, the oldest first."""
        return list(self._steps.get(queue, {}).items())
