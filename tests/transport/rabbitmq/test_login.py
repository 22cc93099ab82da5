"""How an application finds and enters real RabbitMQ servers: several hosts, TLS, client certificates."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from servers import rabbitmq
from servers.certificates import Authority
from servers.ports import free_port
from stepward.errors import SettingsError, TransportError
from stepward.transport.rabbitmq.address import rabbit_address
from tests.programs import program
from tests.transport.brokers import SERVERS, brokered, opened
from tests.transport.messages import request

pytestmark = pytest.mark.servers

DEFINITIONS = {
    "vhosts": [{"name": "/"}],
    "users": [
        {"name": "guest", "password_hash": rabbitmq.password_hash("guest"), "tags": ""},
        {"name": "client", "password_hash": "", "tags": ""},
    ],
    "permissions": [
        {"user": user, "vhost": "/", "configure": ".*", "write": ".*", "read": ".*"} for user in ("guest", "client")
    ],
}
QUEUE = "agents.payments"
ENCRYPTED = """
listeners.ssl.local = 127.0.0.1:{port}
ssl_options.cacertfile = {{folder}}/ca.pem
ssl_options.certfile = {{folder}}/server.pem
ssl_options.keyfile = {{folder}}/server.key
ssl_options.verify = verify_peer
ssl_options.fail_if_no_peer_cert = true
"""
SETTINGS = f"""{ENCRYPTED}
ssl_cert_login_from = common_name
auth_mechanisms.1 = PLAIN
auth_mechanisms.2 = EXTERNAL
load_definitions = {{{{folder}}}}/definitions.json
"""


async def is_served(address: str) -> bool:
    """Whether a message goes there and comes back."""
    async with brokered(address) as transport:
        await transport.publish(QUEUE, [request("o1")])
        return [delivery.message.task for delivery in await transport.take(QUEUE, 1, 10.0)] == ["o1"]


@pytest.mark.parametrize(
    ("address", "servers", "shown"),
    [
        ("amqp://one", ["amqp://one:5672"], "one:5672"),
        ("amqp://a:b@one:5,[::1]/v", ["amqp://a:b@one:5/v", "amqp://a:b@[::1]:5672/v"], "one:5,[::1]:5672"),
        (
            "amqps://a@one,two/v?certificate=f",
            ["amqps://a@one:5671/v?auth=external", "amqps://a@two:5671/v?auth=external"],
            "one:5671,two:5671",
        ),
        ("amqps://one?certificate=f", ["amqps://one:5671?auth=external"], "one:5671"),
        ("amqps://a:b@one?certificate=f", ["amqps://a:b@one:5671"], "one:5671"),
        ("amqps://a:b@one,two", ["amqps://a:b@one:5671", "amqps://a:b@two:5671"], "one:5671,two:5671"),
    ],
)
def test_an_address_names_servers(address: str, servers: list[str], shown: str) -> None:
    found = rabbit_address(address)
    assert (list(found.servers), found.shown) == (servers, shown)


@pytest.mark.parametrize(
    ("address", "found"),
    [
        ("amqp://ada:canary@one,/v", "something else"),
        ("amqp://ada:canary@one?heartbeat=9", "the option 'heartbeat'"),
        ("amqp://ada:canary@one?ca=f", "files for TLS beside amqp://"),
    ],
)
def test_all_else_is_refused_in_one_line_without_the_password(address: str, found: str) -> None:
    with pytest.raises(SettingsError, match=rf"expected amqp://USER.*, found {found}") as refused:
        rabbit_address(address)
    assert "canary" not in str(refused.value)


@pytest.fixture
async def address() -> str:
    program("rabbitmq-server", "rabbitmq-server")
    return await asyncio.to_thread(SERVERS.rabbitmq)


async def test_the_answering_host_of_several_is_found(address: str) -> None:
    assert await is_served(address.replace("@", f"@127.0.0.1:{free_port()},"))


async def test_a_port_without_tls_is_named_so(address: str) -> None:
    with pytest.raises(TransportError, match="found: TLS: the server speaks no TLS on that port"):
        await opened(address.replace("amqp://", "amqps://"), app="shop")


@dataclass(frozen=True)
class Guarded:
    """A server that asks for client certificates, and the files that connect to it."""

    port: int
    folder: Path

    def address(self, *options: str, host: str = "127.0.0.1", login: str = "guest:guest@") -> str:
        named = "&".join(f"{option}={self.folder}/{file}" for option, file in (each.split(":") for each in options))
        return f"amqps://{login}{host}:{self.port}/?{named}"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    program("openssl", "openssl")
    program("rabbitmq-server", "rabbitmq-server")
    folder = tmp_path_factory.mktemp("certificates")
    authority = Authority(folder)
    authority.sign("server", names="IP:127.0.0.1")
    authority.sign("client")
    Authority(folder, "other").sign("foreign")
    port = free_port()
    files = {name: (folder / name).read_text() for name in ("ca.pem", "server.pem", "server.key")}
    files["definitions.json"] = json.dumps(DEFINITIONS)
    with rabbitmq.running(settings=SETTINGS.format(port=port), files=files, plugins=["rabbitmq_auth_mechanism_ssl"]):
        yield Guarded(port, folder)


@pytest.mark.faults
async def test_a_client_certificate_opens_the_server(guarded: Guarded) -> None:
    assert await is_served(guarded.address("ca:ca.pem", "certificate:client.pem", "key:client.key"))


@pytest.mark.faults
@pytest.mark.parametrize("login", ["", "client@"])
async def test_a_client_certificate_is_a_login(guarded: Guarded, login: str) -> None:
    assert await is_served(guarded.address("ca:ca.pem", "certificate:client.pem", "key:client.key", login=login))


@pytest.mark.faults
async def test_a_certificate_that_is_no_users_is_refused_in_one_line(guarded: Guarded) -> None:
    options = ("ca:ca.pem", "certificate:server.pem", "key:server.key")
    with pytest.raises(
        TransportError, match="found: ACCESS_REFUSED - Login was refused using authentication mechanism EXTERNAL"
    ):
        await opened(guarded.address(*options, login=""), app="shop")


@pytest.mark.faults
async def test_a_server_that_takes_no_login_by_certificate_is_named_so(tmp_path: Path) -> None:
    program("openssl", "openssl")
    program("rabbitmq-server", "rabbitmq-server")
    authority = Authority(tmp_path)
    authority.sign("server", names="IP:127.0.0.1")
    authority.sign("client")
    port = free_port()
    files = {name: (tmp_path / name).read_text() for name in ("ca.pem", "server.pem", "server.key")}
    with rabbitmq.running(settings=ENCRYPTED.format(port=port), files=files):
        address = Guarded(port, tmp_path).address("ca:ca.pem", "certificate:client.pem", "key:client.key", login="")
        with pytest.raises(TransportError, match="found: the server takes no login by client certificate; enable its"):
            await opened(address, app="shop")


@pytest.mark.faults
@pytest.mark.parametrize(
    ("options", "host", "found"),
    [
        (["ca:other.pem", "certificate:client.pem", "key:client.key"], "127.0.0.1", "certificate is not accepted: "),
        (["ca:ca.pem", "certificate:client.pem", "key:client.key"], "localhost", "Hostname mismatch"),
        (["ca:ca.pem"], "127.0.0.1", "client certificate"),
        (["ca:ca.pem", "certificate:foreign.pem", "key:foreign.key"], "127.0.0.1", "client certificate"),
    ],
)
async def test_a_failed_handshake_names_the_cause(guarded: Guarded, options: list[str], host: str, found: str) -> None:
    with pytest.raises(TransportError, match=rf"expected RabbitMQ at {host}:\d+ to answer, found: TLS: .*{found}"):
        await opened(guarded.address(*options, host=host), app="shop")
