"""The rules and the dashboard's queries in a real Prometheus that scrapes a store and a process: alerts fire there."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
import yaml

from servers.ports import free_port
from stepward import Agent, App, workflow
from stepward.client import session_of
from tests.deploy.test_monitoring import DASHBOARD, RULES
from tests.programs import program
from tests.store.conformance.test_dead_letters import bury

pytestmark = pytest.mark.servers

LOOK_SECONDS = 0.2
MOST_SECONDS = 60.0
pay = Agent("pay")


@pay.operation
async def charge() -> None: ...


@workflow
async def order() -> None:
    await charge()


@asynccontextmanager
async def served(application: Any) -> AsyncIterator[int]:
    """An ASGI application on a port of loopback, on this event loop."""
    server = uvicorn.Server(uvicorn.Config(application, log_config=None, lifespan="on", port=free_port()))
    task = asyncio.create_task(server._serve())
    async with asyncio.timeout(MOST_SECONDS):
        while not server.started:  # noqa: ASYNC110  uvicorn has no event for it
            await asyncio.sleep(LOOK_SECONDS)
    try:
        yield server.config.port
    finally:
        server.should_exit = True
        await task


@contextmanager
def prometheus(folder: Path, *targets: str) -> Iterator[str]:
    """A Prometheus that scrapes the targets each second, with our rules and no time for which they must hold."""
    rules = yaml.safe_load(RULES.read_text("utf-8"))
    for group in rules["groups"]:
        for rule in group["rules"]:
            rule["for"] = "0s"
    (folder / "rules.yml").write_text(yaml.safe_dump(rules))
    config = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": ["rules.yml"],
        "scrape_configs": [{"job_name": "stepward", "static_configs": [{"targets": list(targets)}]}],
    }
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    port = free_port()
    command = [
        program("prometheus", "prometheus"),
        f"--config.file={folder}/prometheus.yml",
        f"--storage.tsdb.path={folder}/data",
        f"--web.listen-address=127.0.0.1:{port}",
        "--log.level=error",
    ]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield f"http://127.0.0.1:{port}/api/v1"
    finally:
        process.terminate()
        process.wait(MOST_SECONDS)


async def until(found: Callable[[], Awaitable[bool]]) -> None:
    """Looks, with pauses, until what another process brings about is there."""
    async with asyncio.timeout(MOST_SECONDS):
        while not await found():  # noqa: ASYNC110  another process brings it about
            await asyncio.sleep(LOOK_SECONDS)


class Api:
    """The HTTP API of a Prometheus."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client

    async def get(self, path: str, **parameters: str) -> Any:
        try:
            answer = await self._client.get(path, params=parameters)
        except httpx.TransportError:
            return {}
        return answer.json()["data"] if answer.status_code == 200 else {}

    async def firing(self) -> set[str]:
        alerts = (await self.get("/alerts")).get("alerts", [])
        return {alert["labels"]["alertname"] for alert in alerts if alert["state"] == "firing"}

    async def up(self) -> int:
        """How many targets were scraped."""
        targets = (await self.get("/targets")).get("activeTargets", [])
        return sum(target["health"] == "up" for target in targets)


async def test_prometheus_loads_the_rules_and_alerts_of_them_fire(tmp_path: Path) -> None:
    urls: list[str] = []
    app = App("shop", workflows=[order], agents=[pay], store=f"sqlite:///{tmp_path}/shop.db", metrics="127.0.0.1:0")
    app.observers.add(lambda event: urls.append(event.fields["url"]) if event.name == "metrics.served" else None)
    async with app.running(agents=False, supervisor=False), app.client() as client:
        await client.submit(order)
        await bury(session_of(client).store, b"bad")
        async with served(app.asgi(local_admin=True)) as port:
            targets = [f"127.0.0.1:{port}", urls[0].removeprefix("http://")]
            with prometheus(tmp_path, *targets) as url:
                async with httpx.AsyncClient(base_url=url) as http:
                    await check(Api(http))


async def check(api: Api) -> None:
    """The targets are scraped, every rule and query is understood, and the alerts that should fire do."""

    async def scraped() -> bool:
        return await api.up() == 2

    async def fired() -> bool:
        return {"StepwardNoSupervisor", "StepwardDeadLetters"} <= await api.firing()

    await until(scraped)
    await until(fired)
    (group,) = (await api.get("/rules"))["groups"]
    assert [rule["name"] for rule in group["rules"]] == [
        rule["alert"] for rule in yaml.safe_load(RULES.read_text("utf-8"))["groups"][0]["rules"]
    ]
    assert {rule["health"] for rule in group["rules"]} == {"ok"}
    for panel in json.loads(DASHBOARD.read_text("utf-8"))["panels"]:
        for target in panel["targets"]:
            assert "result" in await api.get("/query", query=target["expr"]), target["expr"]
    (waits,) = (await api.get("/query", query='stepward_agent_oldest_wait_seconds{agent="pay"} > 0'))["result"]
    assert float(waits["value"][1]) > 0
    assert "StepwardStoreUnavailable" not in await api.firing()
