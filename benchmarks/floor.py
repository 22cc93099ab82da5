"""The raw limit: a hand-written loop that writes the same rows into the same tables in the same batches.

It does nothing else: no engine, no Agents, no payloads but constants. What it reaches is what SQLite, the disk and
``executemany`` allow; everything Stepward does on top of it shows in the ratio.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import apsw
from msgspec.structs import astuple

from stepward.clock import Environment
from stepward.model.records import Step, Task
from stepward.model.states import StepKind, StepState, TaskState
from stepward.store.contract import Finish
from stepward.store.queries import load_queries
from stepward.store.sqlite.connection import Connection
from stepward.store.sqlite.rows import FRAGMENTS
from stepward.store.sqlite.store import SqliteStore

Q = load_queries("stepward.store.sqlite", "turn.sql", FRAGMENTS)
INPUT = b'["some text",7]'
OUTPUT = b'{"ok":true,"n":7}'
INSTANCE = "floor"


async def open_floor(path: Path, app: str = "floor") -> Connection:
    """A fresh store's tables, and a connection tuned like the store's own."""
    store = SqliteStore(str(path), app=app, environment=Environment())
    await store.open()
    await store.close()
    connection = Connection(str(path))
    connection.tune("full")
    return connection


def ten_step_tasks(connection: Connection, tasks: int, at_once: int) -> float:
    """Steps a second of ``tasks`` ten-step tasks, ``at_once`` of them to a batch; one commit a turn."""
    environment = Environment()
    began = time.perf_counter()
    for first in range(0, tasks, at_once):
        uids = [environment.new_uid() for _ in range(min(at_once, tasks - first))]
        for number in range(1, 12):
            _turn(connection.raw, uids, number)
    return tasks * 10 / (time.perf_counter() - began)


def one_task(connection: Connection, repeats: int) -> float:
    """Median seconds of one ten-step task alone: eleven commits."""
    environment = Environment()
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        uid = environment.new_uid()
        for number in range(1, 12):
            _turn(connection.raw, [uid], number)
        seconds.append(time.perf_counter() - began)
    return sorted(seconds)[repeats // 2]


def finished_tasks(connection: Connection, count: int) -> None:
    """Fill the store with tasks that were processed long ago, a step each."""
    environment = Environment()
    raw = connection.raw
    for first in range(0, count, 1_000):
        uids = [environment.new_uid() for _ in range(min(1_000, count - first))]
        raw.execute("begin immediate")
        raw.executemany(Q["insert_task"], (_task(uid) for uid in uids))
        raw.executemany(Q["insert_step"], (_step(uid, 1) for uid in uids))
        raw.executemany(Q["finish"], (_finish(uid, 1) for uid in uids))
        raw.executemany(Q["move_task"], _ends(uids))
        raw.execute("commit")


def _turn(raw: apsw.Connection, uids: list[str], number: int) -> None:
    """Finish step ``number - 1`` and start step ``number`` of every task, in one transaction."""
    raw.execute("begin immediate")
    if number == 1:
        raw.executemany(Q["insert_task"], (_task(uid) for uid in uids))
    else:
        raw.executemany(Q["finish"], (_finish(uid, number - 1) for uid in uids))
    if number <= 10:
        raw.executemany(Q["insert_step"], (_step(uid, number) for uid in uids))
    else:
        raw.executemany(Q["move_task"], _ends(uids))
    raw.execute("commit")


def _task(uid: str) -> tuple[object, ...]:
    return astuple(
        Task(
            uid=uid,
            id=uid,
            workflow="ten",
            version="1",
            state=TaskState.PROCESSING,
            locked_by=INSTANCE,
            input=INPUT,
        )
    )


def _step(uid: str, number: int) -> tuple[object, ...]:
    return astuple(
        Step(
            task=uid,
            run=1,
            key=f"svc.act/{number}",
            number=number,
            name="svc.act",
            kind=StepKind.OPERATION,
            state=StepState.RUNNING,
            agent="svc",
            attempt=1,
            complete_by=1e9,
            complete_seconds=30.0,
            started_at=1.0,
            input=INPUT,
        )
    )


def _finish(uid: str, number: int) -> tuple[object, ...]:
    return astuple(Finish(uid, 1, f"svc.act/{number}", 1, StepState.COMPLETED, OUTPUT, None, False, number, 2.0))


def _ends(uids: list[str]) -> Iterator[tuple[object, ...]]:
    for uid in uids:
        yield (
            uid,
            INSTANCE,
            TaskState.PROCESSING,
            TaskState.PROCESSED,
            0,
            True,
            b"1",
            None,
            None,
            None,
            None,
            None,
            None,
            3.0,
            True,
        )
