"""A namespace of Azure Service Bus for one test, with the queues of any application."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from urllib.parse import quote_plus

import pytest

from servers.service_bus.entities import Entity
from servers.service_bus.namespace import ALL, Namespace
from servers.service_bus.peer import Peer

KEY = "canary+key/=="
POLICIES = {"root": (KEY, ALL), "sender": (KEY, frozenset({"Send"}))}
LOCK_SECONDS = 30.0
ENTRA_TOKEN = "canary-token"


def usual(name: str) -> Entity | None:
    """The queues that docs/amqp10.md lists."""
    _, _, queue = name.partition("stepward.")
    kind = queue.partition(".")[2]
    if kind in ("replies", "responses"):
        return Entity(name, requires_session=True, lock_seconds=LOCK_SECONDS, most_bytes=1024 * 1024)
    if kind.startswith(("agents.", "submissions.", "letters.")) and not kind.endswith("missing"):
        return Entity(name, lock_seconds=LOCK_SECONDS, most_deliveries=2000)
    return None


def patient(name: str) -> Entity | None:
    """The same with locks that outlast every lease of the conformance suite."""
    found = usual(name)
    return None if found is None else replace(found, lock_seconds=3000.0)


def brief(name: str) -> Entity | None:
    """The same with locks that end sooner."""
    found = usual(name)
    return None if found is None else replace(found, lock_seconds=2.0)


def without_sessions(name: str) -> Entity | None:
    """The same, none of which has sessions."""
    found = usual(name)
    return None if found is None else replace(found, requires_session=False)


def signed(text: str, key: str) -> str:
    """An HMAC as a token carries it."""
    return quote_plus(base64.b64encode(hmac.new(key.encode(), text.encode(), hashlib.sha256).digest()))


@asynccontextmanager
async def managed_identity(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[list[str]]:
    """The endpoint from which azure-identity gets the tokens of a managed identity; what it was asked for."""
    asked: list[str] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        asked.append(head.split(b" ")[1].decode())
        body = json.dumps({"access_token": ENTRA_TOKEN, "expires_on": str(2_000_000_000), "token_type": "Bearer"})
        lines = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\nconnection: close"
        writer.write(f"{lines}\r\n\r\n{body}".encode())
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    monkeypatch.setenv("IDENTITY_ENDPOINT", f"http://127.0.0.1:{port}/token")
    monkeypatch.setenv("IDENTITY_HEADER", "secret")
    monkeypatch.setenv("AZURE_TOKEN_CREDENTIALS", "ManagedIdentityCredential")
    try:
        yield asked
    finally:
        server.close()


@asynccontextmanager
async def service_bus(
    made: Callable[[str], Entity | None] = usual,
    *,
    identities: Mapping[str, frozenset[str]] | None = None,
    tls: ssl.SSLContext | None = None,
) -> AsyncIterator[tuple[str, Namespace]]:
    """Its address for the policy with all rights, and the namespace."""
    namespace = Namespace(made, policies=POLICIES, identities=identities or {})
    server = await asyncio.get_running_loop().create_server(lambda: Peer(namespace), "127.0.0.1", 0, ssl=tls)
    port = server.sockets[0].getsockname()[1]
    try:
        yield f"sb://root:canary%2Bkey%2F%3D%3D@127.0.0.1:{port}", namespace
    finally:
        for peer in tuple(namespace.peers):
            peer.cut()
        server.close()
        await server.wait_closed()
