"""The store at an address, not yet opened, and the identity of one that stays closed."""

from __future__ import annotations

from importlib.util import find_spec

from stepward.clock import Environment
from stepward.errors import SettingsError
from stepward.large_payloads import PayloadKeeper
from stepward.payload.sealed import PayloadCodec
from stepward.store.address import is_postgres, postgres_place, sqlite_path
from stepward.store.contract import Identity, Server, Store
from stepward.store.large_payloads.store import with_large_payloads
from stepward.store.sqlite.store import SqliteStore
from stepward.store.sqlite.store_file import read_identity, read_missing


def open_store(
    address: str,
    *,
    app: str,
    environment: Environment,
    codec: PayloadCodec | None = None,
    keeper: PayloadKeeper | None = None,
) -> Store:
    """The store of that address, not yet connected; ``codec`` encrypts payloads, ``keeper`` keeps large ones outside.

    Raises SettingsError for an address of another form.
    """
    return with_large_payloads(_store_at(address, app, environment, codec), keeper)


def _store_at(address: str, app: str, environment: Environment, codec: PayloadCodec | None) -> Store:
    if is_postgres(address):
        _check_driver()
        from stepward.store.postgres.store import PostgresStore  # noqa: PLC0415  an extra's

        return PostgresStore(postgres_place(address), app=app, environment=environment, codec=codec)
    return SqliteStore(sqlite_path(address), app=app, environment=environment, codec=codec)


def identify(address: str) -> Identity:
    """The identity of the store at that address; creates and changes nothing.

    Raises StoreUnavailable where there is none, StoreUnusable for a database that holds no Stepward store or a newer
    one.
    """
    if is_postgres(address):
        _check_driver()
        from stepward.store.postgres.schema.identity import read_identity as read_postgres  # noqa: PLC0415  an extra's

        return read_postgres(postgres_place(address))
    return read_identity(sqlite_path(address))


def inspect(address: str) -> Server | None:
    """What the server behind that store says of itself; None of a store in a file.

    Raises StoreUnavailable where there is none, StoreUnusable for what is no Stepward store.
    """
    if not is_postgres(address):
        return None
    _check_driver()
    from stepward.store.postgres.schema.identity import read_server  # noqa: PLC0415  an extra's

    return read_server(postgres_place(address))


def granted(address: str, kind: str, login: str, *, apply: bool) -> list[str]:
    """The SQL that makes a login of PostgreSQL fit for that kind of process, carried out if wished.

    Raises SettingsError for a store in a file, Refused for a name that is no login's.
    """
    if not is_postgres(address):
        raise SettingsError(
            "store: expected one on PostgreSQL, found a file, which knows no logins; protect it by its mode"
        )
    _check_driver()
    from stepward.store.postgres.schema import grant_script  # noqa: PLC0415  an extra's
    from stepward.store.postgres.schema.required_privileges import LoginKind  # noqa: PLC0415  an extra's

    return grant_script.script(postgres_place(address), LoginKind(kind), login, apply=apply)


def missing(address: str) -> list[str]:
    """The SQL that brings that store to this program's schema, in parts that are done one after the other.

    Makes and changes nothing; raises as ``identify`` does.
    """
    if is_postgres(address):
        _check_driver()
        from stepward.store.postgres.schema.identity import read_missing as read_postgres  # noqa: PLC0415  an extra's

        return read_postgres(postgres_place(address))
    return read_missing(sqlite_path(address))


def _check_driver() -> None:
    """What only PostgreSQL needs is imported only for it."""
    if find_spec("asyncpg") is None:
        raise SettingsError(
            "store address: expected asyncpg for a postgresql:// address, found it missing; install stepward[postgres]"
        )
