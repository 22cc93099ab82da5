"""The parts of asyncio that differ between versions of Python."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from stepward.workflow.event_loop.futures import WorkflowTask

if sys.version_info >= (3, 14):
    from asyncio import future_discard_from_awaited_by
    from asyncio.tasks import _swap_current_task as swap_current_task

    def forget_waiter(task: WorkflowTask[Any]) -> None:
        """Frees a task that was closed: what it waited for holds it, and it holds that."""
        future_discard_from_awaited_by(task._fut_waiter, task)

else:
    swap_current_task: Callable[[object, Any], Any] | None = None
    """Before 3.14 each loop has its own current task: nothing to put aside."""

    def forget_waiter(task: WorkflowTask[Any]) -> None:
        """Does nothing: before 3.14 a future does not know which tasks wait for it."""
