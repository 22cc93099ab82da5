"""``/metrics`` of the console: the numbers of the store for Prometheus."""

from __future__ import annotations

import httpx
from prometheus_client.parser import text_string_to_metric_families

from stepward import App, Client

from .conftest import Minted, approval, greet, pay


def samples(text: str) -> dict[tuple[str, tuple[str, ...]], float]:
    return {
        (sample.name, tuple(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


async def test_metrics_show_tasks_instances_and_agents(app: App, client: Client, local: httpx.AsyncClient) -> None:
    await client.submit(approval, id="waits")
    await (await client.submit(greet, "Ada")).result()
    answer = await local.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=")
    found = samples(answer.text)
    assert sum(found["stepward_tasks", (state,)] for state in ("pending", "processing", "waiting")) == 1
    assert found["stepward_instances", ("scheduler",)] == 1
    assert found["stepward_agent_capacity", ("pay",)] == pay.concurrency
    assert found["stepward_agent_breaker_open", ("pay",)] == 0
    assert found["stepward_schema_version", ()] > 0


async def test_scrapes_within_a_second_share_one_read(app: App, client: Client, local: httpx.AsyncClient) -> None:
    first = (await local.get("/metrics")).text
    await client.submit(approval, id="waits")
    assert (await local.get("/metrics")).text == first


async def test_metrics_need_a_token_without_a_scope(remote: httpx.AsyncClient, minted: Minted) -> None:
    scoped = await minted("viewer", name="shop", workflows=["greet"])
    assert (await remote.get("/metrics")).status_code == 401
    assert (await remote.get("/metrics", headers=scoped)).status_code == 403
    assert (await remote.get("/metrics", headers=await minted("viewer"))).status_code == 200
