"""Planted bugs of steps that are finished from outside; see ``bugs``."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from msgspec.structs import replace

from simulation.planted_bugs.planting import bug, put, reword
from stepward.scheduler.tasks.records.loading import TaskLoader
from stepward.store.rules.steps import completions as rulings
from stepward.store.sqlite.engine.query_catalogue import load_catalogue
from stepward.store.verbs.tasks import completions


@bug
def token_good_twice(stack: ExitStack) -> None:
    """A step is finished from outside even if it is over."""
    put(stack, rulings, "_found", lambda completion, task, step, now: None)
    reword(stack, load_catalogue(), "completions.complete", "and attempt = ?4 and state = 'running'", "and ?4 > 0")


@bug
def finished_after_undo_began(stack: ExitStack) -> None:
    """A step is finished from outside although its task is being undone."""
    original = rulings.refusal

    def refusal(completion: Any, task: Any, step: Any, now: float) -> Any:
        return original(completion, replace(task, undo_to=None) if task is not None else None, step, now)

    put(stack, rulings, "refusal", refusal)


@bug
def finished_and_nobody_told(stack: ExitStack) -> None:
    """The owner of a step that is finished from outside does not hear of it."""

    async def untold(connection: Any, task: Any, completion: Any, now: float) -> None:
        return

    put(stack, completions, "_post_to_owner", untold)


@bug
def deferred_asked_again(stack: ExitStack) -> None:
    """A Scheduler that takes a task over requests deferred steps again."""
    original = TaskLoader._resume

    def resume(self: TaskLoader, active: Any, step: Any, now: float, *, is_lost: bool) -> None:
        if step.deferred_at is not None:
            step.deferred_at = None
            self._starts.resume(active, step)
        original(self, active, step, now, is_lost=is_lost)

    put(stack, TaskLoader, "_resume", resume)


OF_APPROVALS = (token_good_twice, finished_after_undo_began, finished_and_nobody_told, deferred_asked_again)
