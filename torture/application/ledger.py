"""The remote service: a process of its own that acts once per key, refuses what was undone before, and writes down
in which order all of it happened: ``python -m torture.application.ledger FILE --port PORT``."""

from __future__ import annotations

import argparse
import sqlite3
import time
from datetime import UTC, datetime
from typing import Any

import uvicorn
from msgspec import Struct
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from servers.ledger import SCHEMA, EffectLedger
from servers.web import KeptServer, exit_cleanly_at_signals

CALLS = """
create table call (at real, key text, complete_by real, pid integer, taken integer);
create index call_pid on call (pid, at);
"""


class LedgerEntry(Struct):
    """One effect, in the order of all; ``calls`` counts how often it was asked for under its key."""

    number: int
    key: str
    verb: str
    task: str
    what: str
    calls: int


class LedgerCall(Struct):
    """A request as it came, with the instant by which its attempt was to be over."""

    at: float
    key: str
    complete_by: float
    pid: int
    taken: bool
    """Whether its effect stands; False: its undo had come before."""


class TortureLedger:
    """The service's book, durable with every answer."""

    def __init__(self, path: str) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.execute("pragma journal_mode = wal")
        self._connection.execute("pragma synchronous = full")
        self._connection.executescript(SCHEMA + CALLS)
        self._ledger = EffectLedger(self._connection)

    def do(self, key: str, task: str, what: str, call: tuple[float, int]) -> int:
        """Take effect once; how often it was asked for, 0 when the undo of it came before."""
        with self._transaction():
            late = self._ledger.refuses(key, _now())
            calls = 0 if late else self._enter(key, "do", task, what)
            self._note(key, call, taken=not late)
        return calls

    def undo(self, key: str, undoes: str, task: str, what: str, call: tuple[float, int]) -> int:
        """Take an effect back, or keep it from ever happening."""
        with self._transaction():
            self._ledger.bury(undoes, _now(), key)
            self._note(key, call, taken=True)
            return self._enter(key, "undo", task, what)

    def recent(self, pid: int, since: float) -> int:
        """How many requests a process has made since then."""
        found = self._connection.execute("select count(*) from call where pid = ? and at >= ?", (pid, since))
        return int(found.fetchone()[0])

    def book(self) -> dict[str, list[Any]]:
        """All that is written."""
        asked = self._ledger.deliveries()
        entries = [
            (each.number, each.key, each.action, each.order_id, each.details, asked[each.key])
            for each in self._ledger.effects()
        ]
        calls = self._connection.execute("select at, key, complete_by, pid, taken from call order by rowid")
        return {"entries": entries, "calls": calls.fetchall()}

    def _enter(self, key: str, verb: str, task: str, what: str) -> int:
        calls = self._ledger.deliver(key, _now())
        if calls == 1:
            self._ledger.enter(key, verb, task, what, at=_now())
        return calls

    def _note(self, key: str, call: tuple[float, int], *, taken: bool) -> None:
        complete_by, pid = call
        self._connection.execute("insert into call values (?, ?, ?, ?, ?)", (time.time(), key, complete_by, pid, taken))

    def _transaction(self) -> sqlite3.Connection:
        self._connection.execute("begin immediate")
        return self._connection


def _now() -> str:
    return datetime.now(UTC).isoformat()


def application(ledger: TortureLedger) -> Starlette:
    """The service over a book."""

    async def do(request: Request) -> JSONResponse:
        body, key = await request.json(), request.headers["Idempotency-Key"]
        calls = ledger.do(key, body["task"], body["what"], _call(request, body))
        if not calls:
            return JSONResponse({"title": "undone before it was done"}, 409)
        if body["what"] == "lose" and calls <= 2:
            return JSONResponse({"title": "done, and the answer lost"}, 503)
        return JSONResponse({"calls": calls})

    async def undo(request: Request) -> JSONResponse:
        body, key = await request.json(), request.headers["Idempotency-Key"]
        undoes = request.headers["Stepward-Undoes"]
        ledger.undo(key, undoes, body["task"], body["what"], _call(request, body))
        return JSONResponse({})

    async def recent(request: Request) -> JSONResponse:
        seconds = float(request.query_params["seconds"])
        return JSONResponse({"calls": ledger.recent(int(request.query_params["pid"]), time.time() - seconds)})

    async def book(request: Request) -> JSONResponse:
        return JSONResponse(ledger.book())

    posts = [Route("/do", do, methods=["POST"]), Route("/undo", undo, methods=["POST"])]
    return Starlette(routes=[*posts, Route("/recent", recent), Route("/book", book)])


def _call(request: Request, body: dict[str, Any]) -> tuple[float, int]:
    complete_by = datetime.fromisoformat(request.headers["Stepward-Complete-By"])
    return complete_by.timestamp(), body["pid"]


def main() -> None:
    """Read the command line, and serve until ended."""
    parser = argparse.ArgumentParser(prog="python -m torture.application.ledger", description=__doc__)
    parser.add_argument("file", help="SQLite file of what the service did")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--tethered", action="store_true", help="end when standard input is closed")
    given = parser.parse_args()
    app = application(TortureLedger(given.file))
    config = uvicorn.Config(app, host="127.0.0.1", port=given.port, log_level="warning", access_log=False)
    exit_cleanly_at_signals()
    KeptServer(config, "ledger", is_tethered=given.tethered).run()


if __name__ == "__main__":
    main()
