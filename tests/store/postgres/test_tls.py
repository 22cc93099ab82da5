"""The server's certificate is verified: by the system's authorities, or by those of a file that the address names."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from servers.certificates import Authority
from servers.postgres import Server, running, versions
from servers.postgres.programs import give
from stepward.errors import SettingsError, StoreUnavailable
from stepward.store.address import postgres_place
from stepward.store.postgres import PostgresStore
from tests.programs import program
from tests.store.postgres.worlds import environment_of

pytestmark = pytest.mark.servers

DEBIANS = "15"
"""The version at hand whose programs can encrypt."""
TLS = "ssl = on\nssl_cert_file = 'server.pem'\nssl_key_file = 'server.key'\n"


class Encrypted(NamedTuple):
    server: Server
    authority: Path


@pytest.fixture(scope="module")
def encrypted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Encrypted]:
    program("openssl", "openssl")
    folder = tmp_path_factory.mktemp("authority")
    authority = Authority(folder)
    authority.sign("server", names="IP:127.0.0.1")
    with running(versions()[DEBIANS]) as server:
        server.stop()
        for name in ("server.pem", "server.key"):
            shutil.copy(folder / name, server.folder / name)
            give(server.folder / name)
            (server.folder / name).chmod(0o600)
        settings = server.folder / "postgresql.conf"
        settings.write_text(settings.read_text() + TLS)
        server.start()
        yield Encrypted(server, authority.certificate)


@pytest.fixture(autouse=True)
def no_file_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))


def store(encrypted: Encrypted, options: str) -> PostgresStore:
    place = postgres_place(f"{encrypted.server.address()}?{options}")
    return PostgresStore(place, app="shop", environment=environment_of())


@pytest.mark.parametrize(
    "options", ["sslmode=verify-full", "sslmode=verify-full&sslrootcert=system", "sslmode=verify-ca"]
)
async def test_a_server_is_known_by_the_systems_authorities(
    encrypted: Encrypted, monkeypatch: pytest.MonkeyPatch, options: str
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(encrypted.authority))
    opened = store(encrypted, options)
    await opened.open()
    await opened.close()


async def test_a_server_is_known_by_a_file_of_authorities(encrypted: Encrypted) -> None:
    opened = store(encrypted, f"sslmode=verify-full&sslrootcert={encrypted.authority}")
    await opened.open()
    await opened.close()


async def test_a_server_of_an_unknown_authority_is_refused_with_the_reason(encrypted: Encrypted) -> None:
    with pytest.raises(StoreUnavailable, match=r"expected a certificate of a known authority .*issuer.*sslrootcert"):
        await store(encrypted, "sslmode=verify-full").open()


def test_a_missing_file_of_authorities_is_named(encrypted: Encrypted, tmp_path: Path) -> None:
    with pytest.raises(
        SettingsError, match=rf"expected a file of certificates in sslrootcert, .* {tmp_path}/none.pem;"
    ):
        store(encrypted, f"sslmode=verify-full&sslrootcert={tmp_path}/none.pem")
