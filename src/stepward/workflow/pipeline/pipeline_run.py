"""One run of a pipeline as workflow code: every stage starts when those that it waits for are done."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from stepward.workflow.pipeline.planning import Placed
from stepward.workflow.pipeline.stages import From, Given


class Flow:
    """Finished and missing stages; after the first failure no stage starts, and running ones may end."""

    def __init__(self, stages: Mapping[str, Placed], given: Mapping[str, Any]) -> None:
        self._stages = stages
        self._values: dict[Given | From, Any] = {Given(name): value for name, value in given.items()}
        self._missing = {name: len(stage.waits_for) for name, stage in stages.items()}
        self._failures: list[Exception] = []

    async def run(self) -> None:
        """Do every stage. Raises what the first one that failed raised."""
        async with asyncio.TaskGroup() as group:
            for stage in self._stages.values():
                if not stage.waits_for:
                    group.create_task(self._do(stage, group))
        if self._failures:
            raise self._failures[0]

    def result(self, stage: str) -> Any:
        """What a stage that is done gave."""
        return self._values[From(stage)]

    async def _do(self, stage: Placed, group: asyncio.TaskGroup) -> None:
        arguments = [self._values[each] if isinstance(each, Given | From) else each for each in stage.arguments]
        try:
            self._values[From(stage.name)] = await stage.action.call_as(stage.key, *arguments)
        except Exception as failure:
            self._failures.append(failure)
            return
        for name in stage.followers:
            self._missing[name] -= 1
            if not self._missing[name] and not self._failures:
                group.create_task(self._do(self._stages[name], group))
