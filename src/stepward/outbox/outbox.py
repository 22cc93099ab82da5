"""Writing into the outbox, in the caller's own open transaction."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, ParamSpec, TypeVarTuple, Unpack, overload

from stepward.client import Options
from stepward.client.submitting import act_arguments, submission_checks
from stepward.clock import Environment
from stepward.durations import Duration
from stepward.encryption import Encryption, codec_of
from stepward.errors import Refused, StepwardError
from stepward.model.tasks.attributes import AttributeValue
from stepward.model.tasks.submit_options import PutOptions
from stepward.outbox.entry import ENTRY_PLACE, written
from stepward.outbox.tables import PUT, TABLE
from stepward.payload import PAYLOAD_BYTES
from stepward.store.drivers import (
    Ask,
    Blocking,
    Dialogue,
    ExternalConnection,
    converse,
    converse_blocking,
    name_of,
    recognised,
    said,
    state_of,
    within_savepoint,
)
from stepward.workflow.definition import ChildCall, Workflow

P = ParamSpec("P")
Ts = TypeVarTuple("Ts")

ACCEPTED = (
    "an open connection or session of asyncpg, psycopg 3, SQLAlchemy 2 or Django on PostgreSQL, or one of sqlite3, "
    "SQLAlchemy 2 or Django on SQLite"
)
AUTOCOMMIT = "25P01"
MISSING = ("42P01", "no such table")
IN_AUTOCOMMIT = (
    "connection: expected an open transaction, found the connection in autocommit; begin one around your rows and this"
)


class OutboxRows:
    """Makes the rows of one application's outbox."""

    def __init__(self, app: str, payload_bytes: int, encryption: Encryption | None) -> None:
        self._app = act_arguments.app_name(app)
        self._codec = codec_of(app, encryption)
        self._limit = payload_bytes
        self._environment = Environment()

    @property
    def has_keys(self) -> bool:
        """Whether the key that encrypts rows is here, if one does."""
        return self._codec is None or self._codec.has_key(self._codec.current or "")

    async def load_keys(self) -> None:
        """Fetches the key that encrypts rows, where a key service has it and it is not here yet."""
        if self._codec is not None:
            await self._codec.load()

    def ask(
        self,
        caller: ExternalConnection,
        workflow: Workflow[Any, Any] | str,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        options: Options,
    ) -> tuple[str, Ask]:
        """The task's id, and the statement that writes its row."""
        body = written(workflow, args, kwargs, options, self._app, limit=self._limit)
        chosen = self._environment.new_uid() if options.id is None else submission_checks.task_id(options.id)
        if self._codec is not None:
            body = self._codec.seal(body, chosen, ENTRY_PLACE)
        given = json.dumps({"app": self._app, "id": chosen, "body": body.decode()})
        return chosen, Ask(PUT[caller.database], given)


class Outbox:
    """The outbox of an application, in the database of the given connections; ``app.relay`` carries it."""

    def __init__(self, app: str, *, payload_bytes: int = PAYLOAD_BYTES, encryption: Encryption | None = None) -> None:
        self._rows = OutboxRows(app, payload_bytes, encryption)

    @overload
    async def put(
        self,
        connection: object,
        workflow: Callable[[*Ts], ChildCall[object]],
        *args: *Ts,
        **options: Unpack[PutOptions],
    ) -> str: ...
    @overload
    async def put(self, connection: object, workflow: Workflow[P, Any], *args: P.args, **kwargs: P.kwargs) -> str: ...
    @overload
    async def put(self, connection: object, workflow: str, *args: Any, **kwargs: Any) -> str: ...
    async def put(  # type: ignore[misc]  # the options of the first are listed one by one
        self,
        connection: object,
        workflow: Any,
        *args: Any,
        id: submission_checks.Id | None = None,
        priority: int = 5,
        complete_by: datetime | Duration | None = None,
        delay: Duration | None = None,
        reply_to: str | None = None,
        labels: Mapping[str, str] | None = None,
        attributes: Mapping[str, AttributeValue] | None = None,
        fairness_key: str | None = None,
        **kwargs: Any,
    ) -> str:
        """Request a task in the open transaction of ``connection``; the task's id.

        Arguments and options are those of ``Client.submit``; durations count from when the task is made.
        """
        options = Options(
            id=id,
            priority=priority,
            complete_by=complete_by,
            delay=delay,
            reply_to=reply_to,
            labels=labels,
            attributes=attributes,
            fairness_key=fairness_key,
        )
        caller = _recognised(connection)
        await self._rows.load_keys()
        chosen, ask = self._rows.ask(caller, workflow, args, kwargs, options)
        if isinstance(caller, Blocking) or caller.database != "sqlite":
            await converse(caller, _put(caller, ask))
        elif caller.run_blocking is not None:
            # Whether a transaction is open shows on the blocking connection alone.
            await caller.run_blocking(lambda below: converse_blocking(below, _put(below, ask)))
        return chosen


class SyncOutbox:
    """``Outbox`` for blocking connections; everything runs in the calling thread."""

    def __init__(self, app: str, *, payload_bytes: int = PAYLOAD_BYTES, encryption: Encryption | None = None) -> None:
        self._rows = OutboxRows(app, payload_bytes, encryption)

    @overload
    def put(
        self,
        connection: object,
        workflow: Callable[[*Ts], ChildCall[object]],
        *args: *Ts,
        **options: Unpack[PutOptions],
    ) -> str: ...
    @overload
    def put(self, connection: object, workflow: Workflow[P, Any], *args: P.args, **kwargs: P.kwargs) -> str: ...
    @overload
    def put(self, connection: object, workflow: str, *args: Any, **kwargs: Any) -> str: ...
    def put(  # type: ignore[misc]  # the options of the first are listed one by one
        self,
        connection: object,
        workflow: Any,
        *args: Any,
        id: submission_checks.Id | None = None,
        priority: int = 5,
        complete_by: datetime | Duration | None = None,
        delay: Duration | None = None,
        reply_to: str | None = None,
        labels: Mapping[str, str] | None = None,
        attributes: Mapping[str, AttributeValue] | None = None,
        fairness_key: str | None = None,
        **kwargs: Any,
    ) -> str:
        """Request a task in the open transaction of ``connection``; the task's id.

        Arguments and options are those of ``Client.submit``; durations count from when the task is made.
        """
        options = Options(
            id=id,
            priority=priority,
            complete_by=complete_by,
            delay=delay,
            reply_to=reply_to,
            labels=labels,
            attributes=attributes,
            fairness_key=fairness_key,
        )
        caller = _recognised(connection)
        if not isinstance(caller, Blocking):
            raise Refused(
                f"connection: expected one that blocks, found {name_of(connection)}, whose answers are awaited; use "
                "Outbox with it"
            )
        if not self._rows.has_keys:
            asyncio.run(self._rows.load_keys())
        chosen, ask = self._rows.ask(caller, workflow, args, kwargs, options)
        converse_blocking(caller, _put(caller, ask))
        return chosen


def _recognised(connection: object) -> ExternalConnection:
    caller = recognised(connection)
    if caller is None or caller.database not in PUT or _awaits_a_file_alone(caller):
        on = f" on {caller.database}" if caller is not None else ""
        raise Refused(f"connection: expected {ACCEPTED}, found {name_of(connection)}{on}; give one of them")
    return caller


def _awaits_a_file_alone(caller: ExternalConnection) -> bool:
    return caller.database == "sqlite" and not isinstance(caller, Blocking) and caller.run_blocking is None


def _put(caller: ExternalConnection, ask: Ask) -> Dialogue[None]:
    try:
        if caller.database == "sqlite":
            # There a failing statement breaks no transaction, and a savepoint could begin one.
            if not _is_in_transaction(caller):
                raise Refused(IN_AUTOCOMMIT)
            yield ask
        else:
            yield from within_savepoint(_once(ask))
    except StepwardError:
        raise
    except Exception as error:
        raise _translated(error) from error


def _is_in_transaction(caller: ExternalConnection) -> bool:
    """Whether a row written now waits for a commit; older Python begins a transaction before the first such row."""
    found: Any = caller.in_file() if isinstance(caller, Blocking) and caller.in_file is not None else None
    if not hasattr(found, "in_transaction"):  # neither of sqlite3 nor of aiosqlite
        return False
    by_itself = getattr(found, "autocommit", -1)
    return bool(found.in_transaction or by_itself is False or (by_itself == -1 and found.isolation_level is not None))


def _once(ask: Ask) -> Dialogue[None]:
    yield ask


def _translated(error: Exception) -> Refused:
    what = said(error)
    if state_of(error) == AUTOCOMMIT:
        return Refused(IN_AUTOCOMMIT)
    if state_of(error) == MISSING[0] or MISSING[1] in what:
        return Refused(
            f"connection: expected the table {TABLE}, found none; create it with what "
            "stepward.outbox.outbox_table() gives"
        )
    return Refused(f"connection: expected an open transaction that takes a row of {TABLE}, found {what}; look at it")
