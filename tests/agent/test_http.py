"""HttpAgent: what it sends, and what answers become."""

from __future__ import annotations

import builtins
import importlib
import sys
from collections.abc import Callable
from typing import Any

import httpx
import msgspec
import pytest

from stepward.agent.http.http_agent import HttpAgent
from stepward.errors import DeclarationError, ServiceUnavailable, Unrecoverable
from stepward.model.messages.requests import Outcome
from stepward.policies import Retry
from tests.agent.conftest import Start
from tests.virtual import START

Handler = Callable[[httpx.Request], httpx.Response]


def agent_of(handler: Handler, **options: Any) -> HttpAgent:
    agent = HttpAgent("payments", base_url="http://service/v1", transport=httpx.MockTransport(handler), **options)

    @agent.operation()
    async def charge(order: str) -> Any:
        return await agent.post("/charges", json={"order": order})

    return agent


def answering(*responses: httpx.Response) -> tuple[Handler, list[httpx.Request]]:
    requests: list[httpx.Request] = []
    left = list(responses)

    def handle(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return left.pop(0) if len(left) > 1 else left[0]

    return handle, requests


async def test_a_request_carries_the_step(start: Start) -> None:
    handler, requests = answering(httpx.Response(200, json={"receipt": "r1"}))
    world = start(agent_of(handler, timeout=30, headers={"Authorization": "secret"}))
    reply = await world.call("payments.charge", "o1", complete_by=START + 12)
    assert reply.output == b'{"receipt":"r1"}'
    (request,) = requests
    assert str(request.url) == "http://service/v1/charges"
    assert request.headers["Idempotency-Key"] == "uid-1/1/payments.charge/1"
    assert request.headers["Stepward-Complete-By"] == "2027-01-15T08:00:12.000Z"
    assert request.headers["traceparent"] == "00-0000000000000000000000000000uid1-b7dab54500010001-01"
    assert request.headers["Authorization"] == "secret"
    assert request.extensions["timeout"]["read"] == pytest.approx(12, abs=0.01)


async def test_the_timeout_holds_where_the_complete_by_is_far(start: Start) -> None:
    handler, requests = answering(httpx.Response(200))
    await start(agent_of(handler, timeout=3)).call("payments.charge", "o1")
    assert requests[0].extensions["timeout"] == {
        "connect": 3,
        "read": 3,
        "write": 3,
        "pool": pytest.approx(20, abs=0.01),
    }


async def test_headers_given_with_a_request_are_left_alone(start: Start) -> None:
    handler, requests = answering(httpx.Response(200))
    agent = agent_of(handler)

    @agent.operation()
    async def look() -> Any:
        return await agent.get("/x", headers={"Idempotency-Key": "mine"})

    await start(agent).call("payments.look")
    assert requests[0].headers["Idempotency-Key"] == "mine"


async def test_outside_an_operation_nothing_is_added() -> None:
    handler, requests = answering(httpx.Response(200, json=1))
    agent = agent_of(handler)
    assert await agent.put("/x") == 1
    assert "Idempotency-Key" not in requests[0].headers
    await agent.close()


@pytest.mark.parametrize("method", ["get", "post", "put", "patch", "delete"])
async def test_verbs(method: str) -> None:
    handler, requests = answering(httpx.Response(200, json=[1]))
    agent = agent_of(handler)
    assert await getattr(agent, method)("/x") == [1]
    assert requests[0].method == method.upper()
    await agent.close()


@pytest.mark.parametrize("response", [httpx.Response(204), httpx.Response(200, content=b" ")])
async def test_an_empty_answer_is_none(response: httpx.Response) -> None:
    agent = agent_of(lambda request: response)
    assert await agent.get("/x") is None
    await agent.close()


@pytest.mark.parametrize(
    ("status", "maybe_done"), [(408, False), (425, False), (429, False), (500, True), (503, True), (599, True)]
)
async def test_answers_that_may_pass(status: int, maybe_done: bool) -> None:
    agent = agent_of(lambda request: httpx.Response(status, text="busy"))
    with pytest.raises(ServiceUnavailable, match=f"found {status} busy") as raised:
        await agent.get("/x")
    assert raised.value.maybe_done is maybe_done
    await agent.close()


@pytest.mark.parametrize("status", [301, 400, 401, 404, 409, 422])
async def test_answers_that_will_not_pass(status: int) -> None:
    problem = {"title": "card declined", "detail": "no funds", "type": "x"}
    agent = agent_of(lambda request: httpx.Response(status, json=problem))
    with pytest.raises(Unrecoverable, match=f"GET payments:/x.*{status} card declined: no funds") as raised:
        await agent.get("/x")
    assert (raised.value.data, raised.value.maybe_done) == ({"status": status}, False)
    await agent.close()


async def test_an_answer_that_is_not_json_may_have_acted() -> None:
    agent = agent_of(lambda request: httpx.Response(200, text="<html>"))
    with pytest.raises(Unrecoverable, match="expected JSON, found 200") as raised:
        await agent.get("/x")
    assert raised.value.maybe_done
    await agent.close()


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"Retry-After": "-3"}, 0.0),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "inf"}, None),
        ({}, None),
        ({"Retry-After": "Fri, 15 Jan 2027 08:00:09 GMT", "Date": "Fri, 15 Jan 2027 08:00:00 GMT"}, 9.0),
        ({"Retry-After": "Fri, 15 Jan 2027 08:00:09 GMT"}, None),
    ],
)
async def test_retry_after(headers: dict[str, str], seconds: float | None) -> None:
    agent = agent_of(lambda request: httpx.Response(503, headers=headers))
    with pytest.raises(ServiceUnavailable) as raised:
        await agent.get("/x")
    assert raised.value.retry_after == seconds
    await agent.close()


async def test_a_date_without_another_is_counted_from_the_steps_clock(start: Start) -> None:
    busy = httpx.Response(503, headers={"Retry-After": "Fri, 15 Jan 2027 08:00:09 GMT"})
    handler, requests = answering(busy, httpx.Response(200, json=1))
    world = start(agent_of(handler, retry=Retry(2, initial=0)))
    assert (await world.call("payments.charge", "o1")).outcome is Outcome.COMPLETED
    assert world.now() - START == pytest.approx(9, abs=0.1)
    assert len(requests) == 2


@pytest.mark.parametrize(
    ("error", "maybe_done"),
    [
        (httpx.ConnectError("refused"), False),
        (httpx.ConnectTimeout("slow"), False),
        (httpx.PoolTimeout("full"), False),
        (httpx.ReadTimeout("slow"), True),
        (httpx.WriteError("reset"), True),
        (httpx.RemoteProtocolError("disconnected"), True),
    ],
)
async def test_connection_faults(error: httpx.RequestError, maybe_done: bool) -> None:
    def fail(request: httpx.Request) -> httpx.Response:
        raise error

    agent = agent_of(fail)
    with pytest.raises(ServiceUnavailable, match=type(error).__name__) as raised:
        await agent.get("/x")
    assert raised.value.maybe_done is maybe_done
    await agent.close()


async def test_a_refusal_fails_the_step_with_its_status(start: Start) -> None:
    handler, requests = answering(httpx.Response(402, json={"title": "declined"}))
    reply = await start(agent_of(handler)).call("payments.charge", "o1")
    assert (reply.outcome, reply.calls) == (Outcome.FAILED, 1)
    assert reply.error is not None
    assert msgspec.json.decode(reply.error)["data"] == {"status": 402}
    assert len(requests) == 1


async def test_the_client_is_closed_when_the_runner_ends(start: Start) -> None:
    handler, _ = answering(httpx.Response(200))
    agent = agent_of(handler)
    world = start(agent)
    await world.call("payments.charge", "o1")
    client = agent.client
    await world.runner.drain(1)
    assert client.is_closed


def test_a_base_url_needs_a_scheme() -> None:
    with pytest.raises(DeclarationError, match="expected base_url to begin with http"):
        HttpAgent("payments", base_url="service:80")


def test_without_httpx_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    imported = builtins.__import__

    def refuse(name: str, *args: Any, **options: Any) -> Any:
        if name == "httpx":
            raise ImportError(name)
        return imported(name, *args, **options)

    monkeypatch.delitem(sys.modules, "stepward.agent.http.http_agent")
    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(ImportError, match=r"pip install stepward\[http\]"):
        importlib.import_module("stepward.agent.http.http_agent")
