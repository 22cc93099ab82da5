"""Flask: ``flask --app examples.frameworks.with_flask:service run``, beside ``stepward run``."""

from __future__ import annotations

from flask import Flask, request
from flask.typing import ResponseReturnValue

from examples.frameworks.orders import fulfil, make_app
from stepward import App
from stepward.integrations.flask import Stepward, client


def service(app: App | None = None) -> Flask:
    web = Flask("shop")
    Stepward(app or make_app(), web)

    @web.post("/orders")
    def place() -> ResponseReturnValue:
        order = request.get_json()
        task = client().submit(fulfil, order["number"], order["cents"], id=request.headers.get("Idempotency-Key"))
        return {"task": task.id}, 202

    @web.get("/orders/<task_id>")
    def show(task_id: str) -> ResponseReturnValue:
        return {"state": client().task(task_id).status().state}

    return web
