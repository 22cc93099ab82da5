"""Planted bugs of updates; see ``bugs``."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from msgspec.structs import replace

from simulation.planted_bugs.planting import bug, put
from stepward.store.contract import Change, UpdateState
from stepward.store.verbs.tasks import updates
from stepward.workflow.waits.updates import Update


@bug
def update_put_again(stack: ExitStack) -> None:
    """An update that is asked for again under its id comes into the inbox again."""
    original = updates.ask

    async def ask(connection: Any, task: Any, asked: Any, now: float) -> Any:
        found = await original(connection, task, asked, now)
        if found.asked_at < now and found.state is UpdateState.ASKED:
            await updates.put(connection, task, asked, now)
        return found

    put(stack, updates, "ask", ask)


@bug
def update_answer_lost(stack: ExitStack) -> None:
    """The commit of a turn leaves out the answer that its record holds."""
    original = Change.answer

    def answer(self: Change, answers: Any, now: float) -> None:
        original(self, [each for each in answers if not each.is_accepted], now)

    put(stack, Change, "answer", answer)


@bug
def update_answered_for_another(stack: ExitStack) -> None:
    """The answer of an update is that of the one before."""
    original = Update._answer
    before: list[bytes] = []

    def answer(self: Any, found: Any) -> None:
        before.append(found.body)
        original(self, replace(found, body=before[-2] if len(before) > 1 and found.is_accepted else found.body))

    put(stack, Update, "_answer", answer)


OF_UPDATES = (update_put_again, update_answer_lost, update_answered_for_another)
