"""FastAPI: ``uvicorn --factory examples.frameworks.with_fastapi:service``."""

from __future__ import annotations

from fastapi import FastAPI, Request, Response
from pydantic import BaseModel

from examples.frameworks.orders import fulfil, make_app
from stepward import App
from stepward.integrations.fastapi import StepwardClient, TaskId, error_handlers, lifespan, value_events


class Order(BaseModel):
    """The body of a request."""

    number: str
    cents: int


def service(app: App | None = None) -> FastAPI:
    web = FastAPI(lifespan=lifespan(app or make_app(), run=True), exception_handlers=error_handlers)

    @web.post("/orders", status_code=202)
    async def place(order: Order, client: StepwardClient, task_id: TaskId) -> dict[str, str]:
        task = await client.submit(fulfil, order.number, order.cents, id=task_id)
        return {"task": task.id}

    @web.get("/orders/{task_id}")
    async def show(task_id: str, client: StepwardClient) -> dict[str, str]:
        return {"state": (await client.task(task_id).status()).state}

    @web.get("/orders/{task_id}/progress")
    async def progress(task_id: str, request: Request, client: StepwardClient) -> Response:
        return await value_events(request, client.task(task_id), "progress")

    return web
