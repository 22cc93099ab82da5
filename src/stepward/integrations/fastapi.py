"""FastAPI: the client and the task's id as parameters of a route; the rest is Starlette's."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends

from stepward.client import Client
from stepward.integrations.starlette import client_of, error_handlers, lifespan, task_id_of, value_events

__all__ = ["StepwardClient", "TaskId", "error_handlers", "lifespan", "value_events"]

StepwardClient = Annotated[Client, Depends(client_of)]
"""The client that ``lifespan`` opened."""
TaskId = Annotated[str | None, Depends(task_id_of)]
"""The request's ``Idempotency-Key``, if it has one, as the ``id`` of ``submit``."""
