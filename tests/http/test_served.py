"""The console in a process of its own, over real sockets: start, end, TLS, slow senders, revocation."""

from __future__ import annotations

import asyncio
import datetime
import socket
import ssl
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from stepward import App, Client
from stepward.client import session_of

from .conftest import approval, bearer, token_for

pytestmark = pytest.mark.servers

STARTS = 60.0
SLOW = 300
"""Connections that never finish their headers."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@asynccontextmanager
async def served(
    app: App, *options: str, scheme: str = "http"
) -> AsyncIterator[tuple[int, asyncio.subprocess.Process]]:
    """The command at work on a free port."""
    port = free_port()
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "stepward",
        "console",
        app.settings.store,
        "--port",
        str(port),
        *options,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stderr is not None
        async with asyncio.timeout(STARTS):
            said = (await process.stderr.readline()).decode()
            assert said.startswith(f"Stepward's console: {scheme}://127.0.0.1:{port}/"), said
            while True:
                try:
                    _, writer = await asyncio.open_connection("127.0.0.1", port)
                    writer.close()
                    break
                except OSError:
                    await asyncio.sleep(0.05)
        yield port, process
    finally:
        if process.returncode is None:
            process.terminate()
            await process.wait()


async def test_it_serves_on_loopback_at_once_and_ends_in_good_order(app: App) -> None:
    async with served(app) as (port, process), httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as web:
        answer = await web.post(
            "/api/v1/tasks", json={"workflow": "greet", "arguments": ["Ada"]}, headers={"Prefer": "wait=20"}
        )
        assert (answer.status_code, answer.json()["output"]) == (200, "hello Ada")
        assert (await web.get("/api/v1/me", headers={"Host": f"evil.example:{port}"})).status_code == 421
        process.terminate()
        assert await process.wait() == 0


async def test_a_port_that_is_taken_is_one_line(app: App) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "stepward",
            "console",
            app.settings.store,
            "--port",
            str(taken.getsockname()[1]),
            stderr=asyncio.subprocess.PIPE,
        )
        _, said = await process.communicate()
    assert process.returncode == 1
    assert b"Traceback" not in said
    assert "found it taken" in said.decode()


async def test_slow_senders_and_large_headers_stop_no_other_request(app: App) -> None:
    async with served(app) as (port, _), httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=30) as web:
        slow = [await asyncio.open_connection("127.0.0.1", port) for _ in range(SLOW)]
        for _, writer in slow:
            writer.write(b"GET /api/v1/tasks HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")
        assert (await web.get("/api/v1/me")).status_code == 200
        assert (await web.get("/livez", headers={"X-Large": "x" * 40_000})).status_code in (400, 431)
        assert (await web.get(f"/api/v1/tasks?workflow={'x' * 9_000}")).status_code == 414
        for _, writer in slow:
            writer.close()


async def test_over_tls_a_stream_ends_within_five_seconds_of_its_tokens_revocation(
    app: App, client: Client, tmp_path: Path
) -> None:
    certificate, key = certificate_in(tmp_path)
    text = await token_for(client, "ada", "viewer")
    await client.submit(approval, id="order-1")
    context = ssl.create_default_context(cafile=str(certificate))
    options = ("--tls-cert", str(certificate), "--tls-key", str(key))
    async with (
        served(app, *options, scheme="https") as (port, _),
        httpx.AsyncClient(base_url=f"https://127.0.0.1:{port}", verify=context, headers=bearer(text)) as web,
    ):
        assert (await web.get("/api/v1/me", headers={"Authorization": ""})).status_code == 401
        async with web.stream("GET", "/api/v1/tasks/order-1/events") as stream:
            lines = stream.aiter_lines()
            assert (await anext(lines)).startswith("id:")
            await session_of(client).store.operators.revoke_credential(text.split("_")[1], "test")
            async with asyncio.timeout(20):
                async for _ in lines:
                    pass
        assert (await web.get("/api/v1/me")).status_code == 401


def certificate_in(folder: Path) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 that is its own authority."""
    import ipaddress

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    certificate, private = folder / "cert.pem", folder / "key.pem"
    certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return certificate, private
