"""Recognition of the driver whose connection a caller gives."""

from __future__ import annotations

import importlib
import sys

from stepward.store.drivers.dialogue import ExternalConnection

KINDS = {
    "asyncpg": "by_asyncpg",
    "psycopg": "by_psycopg",
    "sqlalchemy.ext.asyncio": "by_sqlalchemy_async",
    "sqlalchemy": "by_sqlalchemy",
    "django.db": "by_django",
    "sqlite3": "by_sqlite",
}
"""The package that a connection comes from, and the module that asks it: imported only where that package is."""


def recognised(connection: object) -> ExternalConnection | None:
    """How to ask this connection; None for what is no connection that can be used. Raises Refused for one that is not
    on the kind of database that its driver can be used with here."""
    for package, module in KINDS.items():
        if package in sys.modules:
            found: ExternalConnection | None = importlib.import_module(f"{__package__}.{module}").recognised(connection)
            if found is not None:
                return found
    return None


def name_of(connection: object) -> str:
    """The type of the connection that was given, for messages."""
    kind = type(connection)
    return f"{kind.__module__.partition('.')[0]}.{kind.__qualname__}".removeprefix("builtins.")
