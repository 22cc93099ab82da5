"""Claiming: the highest priority first, within it the fairness keys in turn, within a key the oldest first.

A claim goes round by round. Each takes from the keys whose turn is next as many tasks as there are to take for each,
so that one round mostly does, and what it costs depends on what is taken and not on what waits.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import nsmallest
from itertools import chain, zip_longest

from stepward.model.records import Task
from stepward.model.tasks.complete_by import of_claim
from stepward.store import rows
from stepward.store.contract import Least
from stepward.store.named_queries import load_queries
from stepward.store.rules.fairness import Turns, gone_on, passed_over
from stepward.store.sqlite.engine.connection import Connection, Row, encoded
from stepward.store.sqlite.engine.parameters import FRAGMENTS
from stepward.store.sqlite.engine.verb_engine import driven
from stepward.store.verbs.actors.scheduler import MOST_LOOKED, ClaimRequest
from stepward.store.verbs.flow_control import workflow_permits
from stepward.store.verbs.tasks import status_events

Q = load_queries(__package__, "claiming.sql", FRAGMENTS)

Served = Sequence[tuple[str, str]]
"""Workflows by name and version."""


def claim(connection: Connection, wanted: ClaimRequest) -> tuple[list[Task], Turns]:
    """The tasks taken, in the order of their turns, and whose turn was last."""
    claimed: list[Task] = []
    turns, looked = wanted.turns, 0
    while len(claimed) < wanted.limit and looked < wanted.limit * MOST_LOOKED:
        picked = _round(connection, wanted.workflows, wanted.limit - len(claimed), wanted.least, turns)
        if not picked:
            break
        taken, admitted = _take(connection, picked, wanted.instance, wanted.now)
        turns, looked = gone_on(turns, taken), looked + len(taken)
        claimed += admitted
    return claimed, turns


def _round(connection: Connection, workflows: Served, limit: int, least: Least | None, turns: Turns) -> list[Row]:
    """Rowid and uid of up to ``limit`` tasks of one priority."""
    tops = connection.rows(Q["tops"], (encoded(workflows), least.priority if least else 0))
    priority = max((top[2] for top in tops if top[2] is not None), default=None)
    if priority is None:
        return []
    served = [top[:2] for top in tops if top[2] == priority]
    keys = _ring(connection, served, priority, limit, turns.get(priority, ""), passed_over(least, priority))
    each = max(1, limit // max(1, len(keys)))
    lines = [_line(connection, served, priority, key, each) for key in keys]
    return [row for turn in zip_longest(*lines) for row in turn if row is not None]


def _ring(connection: Connection, served: Served, priority: int, limit: int, last: str, but: set[str]) -> list[str]:
    """The keys whose turn is next: those behind the last one, then from the first on."""
    asked = limit + len(but) + 1
    ahead = connection.rows(Q["ring"], (encoded(served), priority, last, asked))
    ring = [key for (key,) in ahead if key != last]
    if len(ahead) < asked:
        ring += [key for (key,) in connection.rows(Q["ring"], (encoded(served), priority, "", asked)) if key <= last]
    return [key for key in ring if key not in but][:limit]


def _line(connection: Connection, served: Served, priority: int, key: str, limit: int) -> list[Row]:
    parts = [connection.rows(Q["line"], (*workflow, priority, key, limit)) for workflow in served]
    return parts[0] if len(parts) == 1 else nsmallest(limit, chain.from_iterable(parts), key=_age)


def _age(row: Row) -> str:
    uid: str = row[1]
    return uid


def _take(connection: Connection, picked: list[Row], instance: str, now: float) -> tuple[list[Task], list[Task]]:
    """The tasks that had their turn, and those of them that may go on under the limits of their workflows."""
    wanted = encoded([rowid for rowid, _ in picked])
    unstarted = {uid for (uid,) in connection.rows(Q["unstarted"], (wanted,))}
    found = {row[0]: rows.task(row) for row in connection.rows(Q["claim"], (wanted, instance, now, of_claim(now)))}
    taken = [found[uid] for _, uid in picked]
    admitted = driven(connection, workflow_permits.admit, taken, now)
    for task in admitted:
        if task.uid in unstarted and (task.reply_to is not None or task.events_to is not None):
            driven(connection, status_events.report_start, task, now)
    return taken, admitted
