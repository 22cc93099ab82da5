"""The service of the contract kit over HTTP: what it answers, and how it notices a closed connection."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

import httpx
import pytest

from stepward.contract_kit.checked_service import CheckedService, ServiceReply
from stepward.contract_kit.http_service import serving
from stepward.contract_kit.observed_changes import Changes


@pytest.fixture
def service() -> CheckedService:
    return CheckedService(time.time, Changes())


@pytest.fixture
async def client(service: CheckedService) -> AsyncIterator[httpx.AsyncClient]:
    async with serving(service) as address, httpx.AsyncClient(base_url=address, timeout=10) as client:
        yield client


async def test_a_call_is_recorded_and_answered_as_planned(service: CheckedService, client: httpx.AsyncClient) -> None:
    case = service.case(ServiceReply(503, {"title": "down"}))
    answer = await client.post("/call", json=case.body, headers={"Idempotency-Key": "k/1"})
    assert (answer.status_code, answer.json()) == (503, {"title": "down"})
    (call,) = case.calls
    assert (call.path, call.key, call.body, call.is_cut) == ("/call", "k/1", case.body, False)


async def test_a_connection_that_is_closed_before_the_answer_cuts_the_call(
    service: CheckedService, client: httpx.AsyncClient
) -> None:
    case = service.case(is_held=True)
    calling = asyncio.create_task(client.post("/call", json=case.body))
    async with asyncio.timeout(10):
        while not case.calls:  # noqa: ASYNC110  the service reports to the kit alone
            await asyncio.sleep(0.01)
        calling.cancel()
        while not case.is_cut:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    ("method", "path", "content", "status"),
    [
        ("GET", "/call", b"", 400),
        ("POST", "/call", b"x" * (1024 * 1024 + 1), 400),
        ("POST", "/call", b"?", 404),
        ("POST", "/call", b'{"case":"1"}', 404),
        ("POST", "/other", b'{"case":1}', 404),
        ("POST", "/undo", b"[1]", 404),
    ],
)
async def test_other_requests_are_refused_and_not_recorded(
    service: CheckedService, client: httpx.AsyncClient, method: str, path: str, content: bytes, status: int
) -> None:
    case = service.case()
    assert (await client.request(method, path, content=content)).status_code == status
    assert case.calls == []


async def test_no_request_ends_the_service(service: CheckedService, client: httpx.AsyncClient) -> None:
    port = client.base_url.port
    assert port is not None
    for sent in (b"", b"\r\n\r\n", b"POST\r\n\r\n", b"POST /call HTTP/1.1\r\nContent-Length: -5\r\n\r\n", b"\xff" * 99):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(sent)
        writer.write_eof()
        await reader.read()
        writer.close()
    case = service.case()
    assert (await client.post("/call", json=case.body)).status_code == 200
