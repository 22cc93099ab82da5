"""Database connections of Django: ``django.db.connection``, or one of ``django.db.connections``."""

from __future__ import annotations

from functools import partial

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils.connection import ConnectionProxy

from stepward.store.drivers.dialogue import Ask, Blocking, ExternalRows


def recognised(connection: object) -> Blocking | None:
    """How to ask it, if it is one."""
    if isinstance(connection, ConnectionProxy):
        alias = getattr(connection, "alias", None)
        connection = connections[alias] if isinstance(alias, str) else None
    if not isinstance(connection, BaseDatabaseWrapper):
        return None
    return Blocking(connection.vendor, partial(_ask, connection), lambda: connection.connection)


def _ask(connection: BaseDatabaseWrapper, ask: Ask) -> ExternalRows:
    with connection.cursor() as cursor:
        if ask.given is None:
            cursor.execute(ask.sql)
        else:
            cursor.execute(ask.written("%s", lambda part: part.replace("%", "%%")), [ask.given])
        return cursor.fetchall() if cursor.description else []
