"""How an application logs in at real NATS servers: NKeys, credentials files, client certificates, several servers."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import nkeys
import pytest

from servers import nats
from servers.certificates import Authority
from servers.ports import free_port
from stepward.errors import SettingsError, TransportError
from tests.programs import program
from tests.transport.brokers import brokered, opened
from tests.transport.messages import request
from tests.transport.nats.issuer import Issuer, pair, public

pytestmark = pytest.mark.servers

QUEUE = "agents.payments"


async def is_served(address: str) -> bool:
    """Whether a message goes there and comes back."""
    async with brokered(address, app="shop") as transport:
        await transport.publish(QUEUE, [request("o1")])
        return [delivery.message.task for delivery in await transport.take(QUEUE, 1, 10.0)] == ["o1"]


async def test_a_user_logs_in_with_an_nkey(tmp_path: Path) -> None:
    seed, keys = pair(nkeys.PREFIX_BYTE_USER)
    file = tmp_path / "shop.nk"
    file.write_text(f"{seed}\n")
    with nats.running(users=f"authorization {{ users: [{{ nkey: {public(keys)} }}] }}") as node:
        assert await is_served(f"{node.address}?nkey={file}")
        other, _ = pair(nkeys.PREFIX_BYTE_USER)
        file.write_text(other)
        # The server closes the connection after its error, which a reset by bytes that it has not read can overtake.
        refused = r"found: (nats: .*[Aa]uthorization|Connection reset by peer; .*look at host, port and login)"
        with pytest.raises(TransportError, match=refused):
            await opened(f"{node.address}?nkey={file}", app="shop")


async def test_a_user_logs_in_with_a_credentials_file(tmp_path: Path) -> None:
    issuer = Issuer()
    file = tmp_path / "ada.creds"
    file.write_text(issuer.credentials("ada"))
    with nats.running(users=issuer.settings()) as node:
        assert await is_served(f"{node.address}?credentials={file}")


@dataclass(frozen=True)
class Guarded:
    """A server that asks for client certificates, and the files that connect to it."""

    node: nats.NatsNode
    folder: Path

    def address(self, *options: str, host: str = "127.0.0.1") -> str:
        named = "&".join(f"{option}={self.folder}/{file}" for option, file in (each.split(":") for each in options))
        return f"tls://{host}:{self.node.port}?{named}"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    program("openssl", "openssl")
    folder = tmp_path_factory.mktemp("certificates")
    authority, other = Authority(folder), Authority(folder, "other")
    certificate, key = authority.sign("server", names="IP:127.0.0.1")
    authority.sign("client")
    other.sign("foreign")
    tls = f'tls {{ cert_file: "{certificate}", key_file: "{key}", ca_file: "{authority.certificate}", verify: true }}'
    with nats.running(users=tls) as node:
        yield Guarded(node, folder)


async def test_a_client_certificate_opens_the_server(guarded: Guarded) -> None:
    assert await is_served(guarded.address("ca:ca.pem", "certificate:client.pem", "key:client.key"))


@pytest.mark.parametrize(
    ("options", "host", "found"),
    [
        (["ca:other.pem", "certificate:client.pem", "key:client.key"], "127.0.0.1", "certificate is not accepted: "),
        pytest.param(
            ["ca:ca.pem", "certificate:client.pem", "key:client.key"],
            "localhost",
            "Hostname mismatch",
            marks=pytest.mark.faults,
        ),
        (["ca:ca.pem"], "127.0.0.1", "client certificate"),
        (["ca:ca.pem", "certificate:foreign.pem", "key:foreign.key"], "127.0.0.1", "client certificate"),
    ],
)
async def test_a_failed_handshake_names_the_cause(guarded: Guarded, options: list[str], host: str, found: str) -> None:
    with pytest.raises(TransportError, match=rf"expected NATS at {host}:\d+ to answer, found: TLS: .*{found}") as told:
        await opened(guarded.address(*options, host=host), app="shop")
    assert "\n" not in str(told.value)


async def test_a_server_that_breaks_a_handshake_off_may_demand_another_certificate() -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b'INFO {"server_id":"s","version":"2.12.0","max_payload":1048576,"tls_required":true}\r\n')
        await reader.read(1)
        reset = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
        writer.transport.abort()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(TransportError, match=r"found: TLS: .*may demand another client certificate"):
            await opened(f"tls://127.0.0.1:{port}", app="shop")


async def test_a_server_without_tls_is_named_so(address: str) -> None:
    with pytest.raises(TransportError, match=r"found: .*the server speaks no TLS"):
        await opened(address.replace("nats://", "tls://"), app="shop")


async def test_the_answering_server_of_several_is_found(guarded: Guarded) -> None:
    options = guarded.address("ca:ca.pem", "certificate:client.pem", "key:client.key").partition("?")[2]
    assert await is_served(f"tls://127.0.0.1:{free_port()},127.0.0.1:{guarded.node.port}?{options}")


@pytest.mark.parametrize(
    ("option", "text", "expected"),
    [
        ("nkey", "canary", "to hold the NKey seed of a user"),
        ("credentials", "canary", "to hold a user's JWT and NKey seed"),
        ("ca", "canary", "to name certificates in PEM"),
        ("certificate", "canary", "to name a certificate and its key"),
        ("nkey", None, "to name a readable file, found: No such file or directory"),
        ("ca", None, "to name a readable file, found: No such file or directory"),
    ],
)
async def test_a_file_that_is_something_else_is_one_line(
    tmp_path: Path, option: str, text: str | None, expected: str
) -> None:
    file = tmp_path / "file"
    if text is not None:
        file.write_text(text)
    with pytest.raises(SettingsError, match=expected) as refused:
        await opened(f"nats://127.0.0.1:{free_port()}?{option}={file}", app="shop")
    assert "canary" not in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("options", ["key=f", "nkey=f&credentials=f"])
async def test_options_that_do_not_go_together_are_refused(options: str) -> None:
    with pytest.raises(SettingsError, match="transport: expected"):
        await opened(f"nats://127.0.0.1:1?{options}", app="shop")
