"""Two processes that serve different code or policies under one workflow and version are noticed by themselves."""

from __future__ import annotations

import asyncio
from typing import Any

from stepward import Client, Supervision, workflow
from stepward.workflow.definition import Workflow
from tests.scheduler.world import World


def former(version: str = "1") -> Workflow[Any, Any]:
    @workflow(version=version)
    async def order() -> int:
        return 1

    return order


def changed(version: str = "1") -> Workflow[Any, Any]:
    @workflow(version=version)
    async def order() -> int:
        return 2

    return order


def patient() -> Workflow[Any, Any]:
    return workflow(supervision=Supervision(threshold=9))(former().fn)


async def kinds(client: Client) -> list[str]:
    await asyncio.sleep(15)
    return [alert.kind for alert in await client.alerts()]


async def test_a_process_with_other_code_raises_one_alert_that_ends_with_it(world: World) -> None:
    app = world.app([former()])
    await world.run(app)
    client = await world.client(app)
    assert await kinds(client) == []
    async with world.app([changed()]).running():
        assert await kinds(client) == ["mixed_code"]
        (alert,) = await client.alerts()
        names = [each.id for each in await client.instances() if each.role == "scheduler"]
        assert all(name in alert.message for name in names)
        assert "found another code in" in alert.message
    assert await kinds(client) == []


async def test_another_policy_is_reported_before_it_affects_tasks(world: World) -> None:
    app = world.app([former()])
    await world.run(app)
    async with world.app([patient()]).running():
        client = await world.client(app)
        assert await kinds(client) == ["mixed_code"]
        assert "found another policy in" in (await client.alerts())[0].message


async def test_a_rolling_deploy_that_gives_changed_code_a_new_version_raises_none(world: World) -> None:
    app = world.app([former()])
    await world.run(app)
    client = await world.client(app)
    async with world.app([former(), changed("2")]).running():
        assert await kinds(client) == []
