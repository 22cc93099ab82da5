"""Blocking connections and ORM sessions of SQLAlchemy 2."""

from __future__ import annotations

from functools import partial

from sqlalchemy import Connection, TextClause, text
from sqlalchemy.exc import UnboundExecutionError
from sqlalchemy.orm import Session, scoped_session

from stepward.errors import Refused
from stepward.store.drivers.dialogue import Ask, Blocking, ExternalRows

UNBOUND = Refused(
    "transaction: expected a session bound to one database, found one bound by its tables; give the connection that "
    "session.connection(bind_arguments=…) has"
)


def recognised(connection: object) -> Blocking | None:
    """How to ask it, if it is one. Raises Refused for a session that is bound to no one database."""
    given = connection() if isinstance(connection, scoped_session) else connection
    return caller_of(given) if isinstance(given, Connection | Session) else None


def caller_of(given: Connection | Session) -> Blocking:
    """How to ask it. Raises Refused for a session that is bound to no one database."""
    database = given.dialect.name if isinstance(given, Connection) else _database(given)
    return Blocking(database, partial(_ask, given), partial(_in_file, given))


def written(ask: Ask) -> tuple[TextClause, dict[str, str]]:
    """The statement and its parameter as SQLAlchemy takes them, whatever the driver below."""
    clause = text(ask.written(":given", lambda part: part.replace(":", "\\:")))
    return clause, {} if ask.given is None else {"given": ask.given}


def _database(session: Session) -> str:
    try:
        return session.get_bind().dialect.name
    except UnboundExecutionError:
        raise UNBOUND from None


def _ask(given: Connection | Session, ask: Ask) -> ExternalRows:
    found = _connection(given).execute(*written(ask))
    return [tuple(row) for row in found] if found.returns_rows else []


def _in_file(given: Connection | Session) -> object:
    return _connection(given).connection.driver_connection


def _connection(given: Connection | Session) -> Connection:
    return given.connection() if isinstance(given, Session) else given
