"""Every committed change of every row, in order, recorded by triggers that the simulation adds.

A transaction's changes are collected while it runs and reported when it commits; what a savepoint or the whole
transaction rolls back is forgotten. A mirror of the rows as committed stands beside.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

import apsw

from simulation.invariants.watched_rows import (
    APPLICATIONS,
    TABLES,
    AgentRow,
    AlertRow,
    AuditRow,
    InboxEntry,
    InstanceRow,
    LetterRow,
    LiveValueRow,
    MessageRow,
    OrderRow,
    StepRow,
    StreamValueRow,
    TaskRow,
    UpdateEntry,
)
from stepward.store.sqlite.engine.connection import PART


class Change(NamedTuple):
    """One row's change: ``before`` is None for a new row, ``after`` for one that went."""

    table: str
    before: Any
    after: Any


class Act(NamedTuple):
    """Which verb of the store runs, and for which instance, if it is one that acts."""

    name: str
    instance: str | None
    but: frozenset[str | None] = frozenset()
    """The fairness keys that a claim passes over at the least priority that it takes."""


OUTSIDE = Act("world", None)
WRITERS_PART = PART.removeprefix("savepoint ")
"""The savepoint of one verb in a transaction that several share."""
VERB: ContextVar[Act] = ContextVar("stepward_simulated_verb", default=OUTSIDE)


def triggers() -> str:
    """The triggers, as one script; a function tells what they see, so no changed row is counted more."""
    return "\n".join(_trigger(table, row, event) for table, row in TABLES.items() for event in EVENTS)


EVENTS = {"insert": ("null", "new"), "update": ("old", "new"), "delete": ("old", "null")}


def _trigger(table: str, row: type[Any], event: str) -> str:
    sides = [_side(row, side) for side in EVENTS[event]]
    owner = "simulated" if table in APPLICATIONS else "stepward"
    return (
        f"create trigger simulated_{table}_{event} after {event} on {owner}_{table} "
        f"begin select simulated_note('{table}', '{event}', {', '.join(side for side in sides if side)}); end;"
    )


def _side(row: type[Any], side: str) -> str:
    return "" if side == "null" else ", ".join(f"{side}.{column}" for column in row._fields)


class Mirror:
    """The rows as committed."""

    def __init__(self) -> None:
        self.tasks: dict[str, TaskRow] = {}
        self.steps: dict[tuple[str, int, str], StepRow] = {}
        self.inbox: dict[int, InboxEntry] = {}
        self.instances: dict[str, InstanceRow] = {}
        self.alerts: dict[int, AlertRow] = {}
        self.audits: dict[int, AuditRow] = {}
        self.messages: dict[int, MessageRow] = {}
        self.dead_letters: dict[int, LetterRow] = {}
        self.agents: dict[str, AgentRow] = {}
        self.update_requests: dict[tuple[str, str], UpdateEntry] = {}
        self.orders: dict[str, OrderRow] = {}
        self.live_values: dict[tuple[str, str], LiveValueRow] = {}
        self.stream_values: dict[tuple[str, str, int], StreamValueRow] = {}
        self.keys: dict[str, StepRow] = {}
        """The steps by the idempotency key that their attempts must carry; a later generation has another."""
        self._of_tasks: defaultdict[str, dict[tuple[str, int, str], StepRow]] = defaultdict(dict)

    def apply(self, entry: Change) -> None:
        """Follow a change."""
        table, before, after = entry
        rows: dict[Any, Any] = getattr(self, "inbox" if table == "inbox" else f"{table}s")
        if table == "step":
            self._apply_step(before, after)
        if after is None:
            rows.pop(_key(table, before), None)
        else:
            rows[_key(table, after)] = after
            if table == "step":
                self.keys[after.acts_under] = after

    def _apply_step(self, before: StepRow | None, after: StepRow | None) -> None:
        if after is not None:
            self._of_tasks[after.task][after[:3]] = after
        elif before is not None:
            self._of_tasks[before.task].pop(before[:3], None)

    def steps_of(self, task: str) -> list[StepRow]:
        """The steps of a task, of every run."""
        return list(self._of_tasks.get(task, {}).values())

    def resubmitted(self, task: str) -> int:
        """How often that task was resubmitted."""
        return sum(row.act == "resubmit" and row.task == task for row in self.audits.values())


def _key(table: str, row: Any) -> Any:
    length = KEY_LENGTHS.get(table)
    return row[0] if length is None else row[:length]


KEY_LENGTHS = {"step": 3, "update_request": 2, "live_value": 2, "stream_value": 3}
"""How many of the first columns are the key of a row, where that is more than one."""


OnCommitted = Callable[[list[Change], Act], None]


@contextmanager
def watched(committed: OnCommitted) -> Iterator[None]:
    """Tell ``committed`` the changes of each transaction on any connection opened meanwhile."""

    def hook(connection: apsw.Connection) -> None:
        CommitWatch(connection, committed)

    apsw.connection_hooks.append(hook)
    try:
        yield
    finally:
        apsw.connection_hooks.remove(hook)


class CommitWatch:
    """The changes of one connection's open transaction."""

    def __init__(self, connection: apsw.Connection, committed: OnCommitted) -> None:
        self._committed = committed
        self._entries: list[Change] = []
        self._shared: list[tuple[list[Change], Act]] = []
        """The changes of each verb that has ended in a transaction that several share."""
        self._marks: list[tuple[str, int]] = []
        """The savepoints that are open, each with the changes that stood before it."""
        connection.create_scalar_function("simulated_note", self._note)
        connection.set_commit_hook(self._commit)
        connection.set_rollback_hook(self._forget)
        connection.exec_trace = self._trace

    def _note(self, *told: Any) -> None:
        table, event, *values = told
        row = TABLES[table]
        size = len(row._fields)
        before = row(*values[:size]) if event != "insert" else None
        after = row(*values[-size:]) if event != "delete" else None
        if before != after:
            self._entries.append(Change(table, before, after))

    def _commit(self) -> bool:
        shared, self._shared = [*self._shared, (self._entries, VERB.get())], []
        self._entries = []
        self._marks.clear()
        for entries, act in shared:
            if entries:
                self._committed(entries, act)
        return False

    def _forget(self) -> None:
        self._shared.clear()
        self._entries.clear()
        self._marks.clear()

    def _trace(self, cursor: Any, sql: str, bindings: Any) -> bool:
        if sql.startswith(("savepoint ", "rollback to ", "release ")):
            self._savepoint(*sql.rsplit(" ", 1))
        return True

    def _savepoint(self, verb: str, name: str) -> None:
        if verb == "savepoint":
            self._marks.append((name, len(self._entries)))
            return
        while self._marks[-1][0] != name:
            self._marks.pop()
        if verb == "release":
            self._marks.pop()
            if name == WRITERS_PART:
                self._shared.append((self._entries, VERB.get()))
                self._entries = []
        else:
            del self._entries[self._marks[-1][1] :]
