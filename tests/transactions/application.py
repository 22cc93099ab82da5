"""The submitted workflows: a plain one, one with a plan, and one with a time limit."""

from __future__ import annotations

from typing import Any

from stepward import App, Given, Pipeline, Stage, step, workflow

SETTINGS: dict[str, Any] = {"poll": "100ms", "supervisor_every": "100ms"}


@step()
async def pack(what: str) -> str:
    return f"packed {what}"


@workflow
async def order(what: str) -> str:
    return await pack(what)


@workflow(complete_by="1h")
async def limited(what: str) -> str:
    return what


delivery = Pipeline(
    "delivery",
    {"first": Stage(pack, Given("what")), "second": Stage(pack, Given("what"))},
    given={"what": str},
    result="second",
)


def application(store: str, name: str = "shop") -> App:
    return App(name, workflows=[order, limited, delivery], store=store, **SETTINGS)
