"""The layouts of docs/deployment.md over a broker that encrypts, and knows its users by keys or certificates."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nkeys

from servers import nats, postgres, rabbitmq
from servers.certificates import Authority
from servers.ports import free_port
from tests.deploy import guide
from tests.deploy.host import Host
from tests.deploy.layouts import admit, beside
from tests.programs import program
from tests.transport.nats.issuer import Issuer

NKEYS, CERTIFICATES = "with NKeys, in ", "with certificates, in "
PLUGIN = "rabbitmq_auth_mechanism_ssl"


@contextmanager
def over_nats_with_nkeys(server: postgres.Server, folder: Path) -> Iterator[Host]:
    """A host beside a database and a NATS server with the page's permissions, TLS, and an NKey for each login."""
    section = guide.part(guide.section(guide.BROKER), "**NATS**", "**RabbitMQ**")
    users, tls = (
        next(block for block in guide.blocks("", section) if block.startswith(start)) for start in ("author", "tls")
    )
    authority = certified(folder)
    for login in re.findall(r"user: (\w+)", users):
        seed = nkeys.encode_seed(os.urandom(32), nkeys.PREFIX_BYTE_USER)
        (folder / f"{login}.nk").write_bytes(seed)
        key = nkeys.from_seed(bytearray(seed)).public_key.decode()
        users = re.sub(rf"user: {login}, password: \S+", f"nkey: {key}", users)
    assert "password" not in users
    with (
        nats.running(users=tls.replace("/etc/nats", str(authority.certificate.parent)) + users) as node,
        beside(server, folder, names=_names(folder, nats=f"127.0.0.1:{node.port}")) as host,
    ):
        host.install(guide.files(section, NKEYS))
        yield host


@contextmanager
def over_nats_with_credentials(server: postgres.Server, folder: Path) -> Iterator[Host]:
    """A host beside a database and a NATS server that knows no user: the page's permissions are in the users' files."""
    section = guide.part(guide.section(guide.BROKER), "**NATS**", "**RabbitMQ**")
    [tls] = [block for block in guide.blocks("", section) if block.startswith("tls")]
    [address] = re.findall(r"`(tls://payments@\S+\?credentials=[^`\s]+)`", section)
    files = {name: re.findall(r"//(\w+)@", text)[0] for name, text in guide.files(section, NKEYS).items()}
    authority, issuer = certified(folder), Issuer()
    issue(issuer, folder)
    settings = tls.replace("/etc/nats", str(authority.certificate.parent)) + issuer.settings()
    with (
        nats.running(users=settings) as node,
        beside(server, folder, names=_names(folder, nats=f"127.0.0.1:{node.port}")) as host,
    ):
        # The system does not know the authority of the test.
        addresses = {name: f"{address.replace('payments', login)}&ca={folder}/ca.pem" for name, login in files.items()}
        host.install({name: f"STEPWARD_TRANSPORT={text}\n" for name, text in addresses.items()})
        yield host


def issue(issuer: Issuer, folder: Path) -> None:
    """Write a credentials file for each login of the page, with the permissions that it has there."""
    for login, permissions in guide.permitted().items():
        publish, subscribe = (
            [each.removeprefix(verb) for each in permissions if each.startswith(verb)] for verb in ("PUB ", "SUB ")
        )
        (folder / f"{login}.creds").write_text(issuer.credentials(login, publish, subscribe))


@contextmanager
def over_rabbitmq_with_certificates(server: postgres.Server, folder: Path) -> Iterator[Host]:
    """A host beside a database and a RabbitMQ server with the page's permissions, and a certificate for each login."""
    program("rabbitmq-server", "rabbitmq-server")
    section = guide.part(guide.section(guide.BROKER), "**RabbitMQ**", "| setting")
    [settings] = [block for block in guide.blocks("", section) if block.startswith("listeners")]
    port = free_port()
    # The test's server is looked for at its port without TLS.
    settings = settings.replace("listeners.tcp = none\n", "").replace(
        "ssl.default = 5671", f"ssl.local = 127.0.0.1:{port}"
    )
    authority = certified(folder)
    files = {name: (folder / name).read_text() for name in ("ca.pem", "server.pem", "server.key")}
    with rabbitmq.running(
        settings=settings.replace("/etc/rabbitmq", "{folder}"), files=files, plugins=[PLUGIN]
    ) as broker:
        for login in admit(broker, section):
            authority.sign(login)
            broker.control("clear_password", login)
        with beside(server, folder, names=_names(folder, rabbitmq=f"127.0.0.1:{port}")) as host:
            host.install(guide.files(section, CERTIFICATES))
            yield host


def certified(folder: Path) -> Authority:
    """An authority whose certificate is ``ca.pem`` in the folder, with one for a server on loopback."""
    program("openssl", "openssl")
    authority = Authority(folder)
    authority.sign("server", names="IP:127.0.0.1")
    return authority


def _names(folder: Path, **servers: str) -> dict[str, str]:
    return {f"{name}.example": address for name, address in servers.items()} | {"/etc/stepward/": f"{folder}/"}
