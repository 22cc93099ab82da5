"""An Agent whose steps are finished from outside, and a workflow that asks it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

import pytest

from stepward import (
    Agent,
    CompletionRefused,
    Retry,
    Supervision,
    current_step,
    workflow,
)
from tests.scheduler.world import until

MINUTE = 60.0


class Approvals:
    """An Agent whose steps are finished from outside; ``tokens`` are those that it handed out, in order."""

    def __init__(self, complete_by: str = "1h") -> None:
        self.agent = Agent("approvals", retry=Retry(attempts=1))
        self.tokens: list[str] = []
        self.undone: list[Any] = []
        self.undo_later = False

        @self.agent.operation(complete_by=complete_by)
        async def ask(order: str) -> bool:
            self.tokens.append(current_step().completion_token)
            current_step().finish_later()

        @ask.undo
        async def withdraw(answer: bool | None, order: str) -> None:
            self.undone.append(answer)
            if self.undo_later:
                self.tokens.append(current_step().completion_token)
                current_step().finish_later()

        self.ask = ask

    async def token(self, count: int = 1) -> str:
        """The last of so many tokens, once they are out and what gave them out has ended."""

        async def look() -> bool:
            return len(self.tokens) >= count

        await until(look)
        await asyncio.sleep(0.1)
        return self.tokens[count - 1]


def approved(approvals: Approvals, **policy: Any) -> Any:
    @workflow(name="approved", supervision=Supervision(**{"then": "alert", **policy}))
    async def body(order: str) -> str:
        return "approved" if await approvals.ask(order) else "refused"

    return body


async def refusal(doing: Awaitable[None]) -> str:
    with pytest.raises(CompletionRefused) as caught:
        await doing
    return caught.value.reason
