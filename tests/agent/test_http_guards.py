"""HttpAgent towards services that answer too much, lead elsewhere or mix customers up, and callers who ask wrongly."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import ssl
import subprocess
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from stepward.agent.http.http_agent import HttpAgent
from stepward.errors import DeclarationError, ServiceUnavailable, Unrecoverable
from stepward.model.messages.requests import Outcome
from stepward.policies import CircuitBreaker, Retry
from tests.agent.conftest import Start

MIB = 1024 * 1024
BOUND = 120.0


class Parts(httpx.AsyncByteStream):
    """A body that arrives in parts."""

    def __init__(self, *parts: bytes) -> None:
        self.parts = parts

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for part in self.parts:
            yield part


class Service(httpx.AsyncBaseTransport):
    """Gives the same answer to all requests, and keeps them."""

    def __init__(self, status: int = 200, headers: dict[str, str] | None = None, *parts: bytes) -> None:
        self.status = status
        self.headers = headers or {}
        self.parts = parts
        self.requests: list[httpx.Request] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        return httpx.Response(self.status, headers=self.headers, stream=Parts(*self.parts))


def agent_of(service: httpx.AsyncBaseTransport, **options: Any) -> HttpAgent:
    return HttpAgent("payments", "http://service/v1", transport=service, **options)


def bomb(mib: int) -> bytes:
    packer = zlib.compressobj(9, wbits=31)
    zeros = bytes(MIB)
    return b"".join(packer.compress(zeros) for _ in range(mib)) + packer.flush()


async def test_a_small_packed_answer_that_unpacks_to_much_is_refused_within_little_memory() -> None:
    packed = bomb(256)
    assert len(packed) < MIB
    agent = agent_of(Service(200, {"Content-Encoding": "gzip"}, packed), body_bytes=4 * MIB)
    tracemalloc.start()
    try:
        with pytest.raises(Unrecoverable, match="expected at most 4,194,304 bytes, found more") as raised:
            await agent.post("/charges")
        assert tracemalloc.get_traced_memory()[1] < 16 * MIB
    finally:
        tracemalloc.stop()
    assert raised.value.maybe_done


async def test_an_answer_that_never_ends_is_refused_through_the_client_too() -> None:
    agent = agent_of(Service(200, {}, *[bytes(1000)] * 100), body_bytes=10_000)
    with pytest.raises(Unrecoverable, match="expected at most 10,000 bytes, found more"):
        await agent.client.get("/x")


async def test_of_a_large_error_page_the_beginning_is_kept() -> None:
    agent = agent_of(Service(503, {}, *[b"busy " * 200] * 100), body_bytes=10_000)
    with pytest.raises(ServiceUnavailable, match="found 503 busy busy"):
        await agent.get("/x")


async def test_what_is_streamed_may_be_larger_than_the_bound() -> None:
    agent = agent_of(Service(200, {"Content-Encoding": "gzip"}, gzip.compress(bytes(MIB))), body_bytes=10_000)
    async with agent.client.stream("GET", "/x") as response:
        pieces = [len(piece) async for piece in response.aiter_bytes()]
    assert (sum(pieces), max(pieces) <= 65_536) == (MIB, True)


async def test_a_large_error_page_of_what_is_streamed_is_bounded() -> None:
    agent = agent_of(Service(503, {}, *[bytes(1000)] * 100), body_bytes=10_000)
    async with agent.client.stream("GET", "/x") as response:
        assert len(await response.aread()) == 10_000


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", gzip.compress(b'{"a":1}')),
        ("deflate", zlib.compress(b'{"a":1}')),
        ("deflate", zlib.compress(b'{"a":1}')[2:-4]),
        ("identity", b'{"a":1}'),
        ("utf-8", b'{"a":1}'),
    ],
    ids=["gzip", "deflate", "raw deflate", "identity", "unknown"],
)
async def test_packed_answers_are_read(encoding: str, body: bytes) -> None:
    service = Service(200, {"Content-Encoding": encoding}, body[:1], b"", body[1:])
    assert await agent_of(service).get("/x") == {"a": 1}
    assert service.requests[0].headers["Accept-Encoding"] == "gzip, deflate"


@pytest.mark.parametrize("encoding", ["gzip", "gzip, gzip", "br"])
async def test_an_answer_that_does_not_unpack_is_in_doubt(encoding: str) -> None:
    agent = agent_of(Service(200, {"Content-Encoding": encoding}, b"no such thing"))
    with pytest.raises(ServiceUnavailable, match="DecodingError") as raised:
        await agent.post("/x")
    assert raised.value.maybe_done


async def test_no_cookie_of_one_call_goes_with_the_next() -> None:
    service = Service(200, {"Set-Cookie": "session=alice; Path=/"}, b"1")
    agent = agent_of(service)
    await agent.get("/x")
    await agent.get("/x")
    assert "Cookie" not in service.requests[1].headers


async def test_a_cookie_that_the_caller_gives_goes_along() -> None:
    service = Service(200, {}, b"1")
    await agent_of(service).get("/x", headers={"Cookie": "a=b"})
    assert service.requests[0].headers["Cookie"] == "a=b"


@pytest.mark.parametrize("url", ["http://elsewhere/x", "https://service/x", "http://service:81/x", "ftp://service/x"])
async def test_a_url_of_another_service_is_refused_and_not_asked(url: str) -> None:
    service = Service(200, {}, b"1")
    agent = agent_of(service, headers={"Authorization": "secret"})
    with pytest.raises(Unrecoverable, match="expected a request to http://service, found one to") as raised:
        await agent.get(url)
    assert (service.requests, raised.value.maybe_done) == ([], False)


async def test_an_absolute_url_of_the_same_service_is_asked() -> None:
    service = Service(200, {}, b"1")
    assert await agent_of(service).get("http://service:80/v1/next?page=2") == 1


async def test_a_redirect_that_is_followed_does_not_lead_to_another_service() -> None:
    service = Service(307, {"Location": "http://elsewhere/x"})
    agent = agent_of(service, headers={"X-Api-Key": "secret"})
    with pytest.raises(Unrecoverable, match="found one to http://elsewhere") as raised:
        await agent.post("/x", follow_redirects=True)
    assert (len(service.requests), raised.value.maybe_done) == (1, True)


@pytest.mark.parametrize(
    "ask",
    [
        lambda agent: agent.get("/orders/a\nb"),
        lambda agent: agent.get("http://[::1"),
        lambda agent: agent.get(None),
        lambda agent: agent.get("/x", headers={"X-Order": "a\r\nb"}),
        lambda agent: agent.get("/x", headers={"X-Order": "ж"}),
        lambda agent: agent.post("/x", json={"amount": {1}}),
    ],
)
async def test_what_cannot_be_sent_is_the_callers_mistake_and_opens_no_breaker(
    start: Start, ask: Callable[[HttpAgent], Coroutine[Any, Any, Any]]
) -> None:
    service = Service(200, {}, b"1")
    agent = agent_of(service, breaker=CircuitBreaker(failures=1), retry=Retry(1))

    @agent.operation()
    async def wrong() -> Any:
        return await ask(agent)

    @agent.operation()
    async def right() -> Any:
        return await agent.get("/x")

    world = start(agent)
    reply = await world.call("payments.wrong")
    assert (reply.outcome, reply.maybe_done, service.requests) == (Outcome.FAILED, False, [])
    assert reply.error is not None
    assert "expected a request that can be sent" in msgspec.json.decode(reply.error)["message"]
    assert (await world.call("payments.right")).outcome is Outcome.COMPLETED


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308, 409])
async def test_a_redirect_or_a_conflict_leaves_a_change_in_doubt(status: int) -> None:
    agent = agent_of(Service(status, {"Location": "/elsewhere"}))
    for method in ("post", "put", "patch", "delete"):
        with pytest.raises(Unrecoverable) as raised:
            await getattr(agent, method)("/x")
        assert raised.value.maybe_done
    with pytest.raises(Unrecoverable) as raised:
        await agent.get("/x")
    assert not raised.value.maybe_done


@pytest.mark.parametrize("value", ["86401", "1e300", "Fri, 31 Dec 9999 23:59:59 GMT"])
async def test_a_wait_of_more_than_a_day_is_ignored(value: str) -> None:
    headers = {"Retry-After": value, "Date": "Fri, 15 Jan 2027 08:00:00 GMT"}
    with pytest.raises(ServiceUnavailable) as raised:
        await agent_of(Service(503, headers)).get("/x")
    assert raised.value.retry_after is None


@pytest.mark.parametrize("url", ["http://", "http:///x", "http://[::1", None, "http://a\n"])
def test_a_base_url_needs_a_host(url: Any) -> None:
    with pytest.raises(DeclarationError, match="expected base_url to begin with http"):
        HttpAgent("payments", url)


@pytest.mark.parametrize("size", [0, -1, "1", None])
def test_a_bound_of_bodies_is_a_number(size: Any) -> None:
    with pytest.raises(DeclarationError, match="expected body_bytes of at least 1"):
        HttpAgent("payments", "http://service", body_bytes=size)


async def _served(
    work: Callable[[int], Coroutine[Any, Any, None]], tls: ssl.SSLContext | None = None, together: int = 1
) -> None:
    """Do the work while a server of real sockets answers requests, so many at the same time."""
    meeting = asyncio.Barrier(together)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer):
            while await reader.readline():
                while (await reader.readline()).strip():
                    pass
                await meeting.wait()
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1")

    server = await asyncio.start_server(answer, "127.0.0.1", ssl=tls)
    async with asyncio.timeout(BOUND), server:
        await work(server.sockets[0].getsockname()[1])


def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")

    async def work(port: int) -> None:
        agent = HttpAgent("payments", f"http://127.0.0.1:{port}")
        assert await agent.get("/x") == 1
        await agent.close()

    asyncio.run(_served(work))


def test_a_proxy_that_is_given_is_used() -> None:
    async def work(port: int) -> None:
        agent = HttpAgent("payments", "http://service.invalid", proxy=f"http://127.0.0.1:{port}")
        assert await agent.get("/x") == 1
        await agent.close()

    asyncio.run(_served(work))


def _certificate(folder: Path, name: str) -> tuple[Path, Path]:
    key, certificate = folder / f"{name}.key", folder / f"{name}.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    names = ["-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"]
    subprocess.run([*command, *names, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    return certificate, key


def test_an_authority_and_a_client_certificate_can_be_given(tmp_path: Path) -> None:
    (service, service_key), (client, client_key) = _certificate(tmp_path, "service"), _certificate(tmp_path, "client")
    of_service = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=client)
    of_service.load_cert_chain(service, service_key)
    of_service.verify_mode = ssl.CERT_REQUIRED
    of_client = ssl.create_default_context(cafile=service)
    of_client.load_cert_chain(client, client_key)

    async def work(port: int) -> None:
        agent = HttpAgent("payments", f"https://127.0.0.1:{port}", tls=of_client)
        assert await agent.get("/x") == 1
        await agent.close()
        stranger = HttpAgent("payments", f"https://127.0.0.1:{port}")
        with pytest.raises(ServiceUnavailable, match="ConnectError"):
            await stranger.get("/x")
        await stranger.close()

    asyncio.run(_served(work, of_service))


def test_an_operation_may_ask_several_things_at_once_with_one_call_at_a_time() -> None:
    async def work(port: int) -> None:
        agent = HttpAgent("payments", f"http://127.0.0.1:{port}", concurrency=1, timeout="1s")
        assert await asyncio.gather(*[agent.get("/x") for _ in range(3)]) == [1, 1, 1]
        await agent.close()

    asyncio.run(_served(work, together=3))
