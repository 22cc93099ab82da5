"""Login at NATS servers with the means that the address names, read again for each connection."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from nats.aio.client import RawCredentials

from stepward.errors import SettingsError
from stepward.transport.broker.tls import secret_file
from stepward.transport.nats.address import NatsAddress

PARTS = ("-----BEGIN NATS USER JWT-----", "-----BEGIN USER NKEY SEED-----")


def login_of(address: NatsAddress) -> dict[str, Any]:
    """The client's login options. Raises SettingsError for a file of another kind."""
    given: dict[str, Any] = {"tls": address.tls.context()} if address.speaks_tls else {}
    if address.credentials is not None or address.nkey is not None:
        _check_nkeys()
    if address.credentials is not None:
        given["user_credentials"] = RawCredentials(_credentials(address.credentials))
    if address.nkey is not None:
        given["nkeys_seed_str"] = _seed(address.nkey)
    return given


def inbox_prefix(application: str, address: NatsAddress) -> str:
    """Where the server's answers go: a prefix per login, so that no user needs to read what another is answered."""
    return ".".join(filter(None, (application, address.user)))


def _check_nkeys() -> None:
    if find_spec("nkeys") is None:
        raise SettingsError("transport: expected nkeys for NKeys, found it missing; install stepward[nkeys]")


def _credentials(path: str) -> str:
    text = secret_file(path, "credentials")
    if not all(part in text for part in PARTS):
        raise _unusable("credentials", path, "a user's JWT and NKey seed, as nsc writes them")
    return text


def _seed(path: str) -> str:
    lines = [line.strip() for line in secret_file(path, "nkey").splitlines()]
    seeds = [line for line in lines if line.startswith("SU")]
    if len(seeds) != 1:
        raise _unusable("nkey", path, "the NKey seed of a user, SU…")
    return seeds[0]


def _unusable(option: str, path: str, expected: str) -> SettingsError:
    return SettingsError(f"transport: expected {option}={path} to hold {expected}, found something else; repair it")
