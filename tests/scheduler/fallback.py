"""A workflow that catches a failed step and falls back on another."""

from __future__ import annotations

from stepward import StepFailed, Supervision, TaskHandle, workflow
from stepward.workflow.definition import Workflow
from tests.scheduler.world import Service, states


def with_fallback(service: Service, threshold: int = 0) -> Workflow[[], list[str]]:
    @workflow(supervision=Supervision(threshold=threshold))
    async def order() -> list[str]:
        first = await service.do("a")
        try:
            second = await service.do("b")
        except StepFailed:
            await service.do("fallback")
            raise
        return [first, second, await service.do("c")]

    return order


async def is_running(handle: TaskHandle, key: str) -> bool:
    return (await states(handle)).get(key) == "running"
