"""The four remote services, pretended by one HTTP server of this process; the real ones would belong to others.

They do what Stepward asks of a service: act once under each idempotency key, and not at all under one that was undone.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

REFERENCES = {"reserve": "reservation_id", "charge": "charge_id", "create": "tracking", "send": "message_id"}
"""What each service calls the number of what it did."""
DOWN, ANSWER_LOST = "down", "answer lost"


class Services:
    """Give it faults by order and action: each strikes one call. `calls` counts calls, `done` has effects by key."""

    def __init__(self, faults: Mapping[tuple[str, str], list[str]]) -> None:
        self.calls: Counter[tuple[str, str]] = Counter()
        self.done: dict[str, tuple[str, str]] = {}
        self._undone: set[str] = set()
        self._faults = faults
        self._one_at_a_time = threading.Lock()

    def answer(self, action: str, body: dict[str, Any], key: str, undoes: str | None) -> tuple[int, Any] | None:
        """Status and document; None breaks the connection."""
        what = (body["order_id"], action)
        with self._one_at_a_time:
            self.calls[what] += 1
            faults = self._faults.get(what, [])
            fault = faults.pop(0) if faults else None
            if fault == DOWN:
                return 503, {"title": "down for a moment"}
            if key in self._undone:
                return 410, {"title": "undone before it was done"}
            if action == "create" and not body["address"]:
                return 400, {"title": "no address"}
            if undoes is not None:
                self._undone.add(undoes)
            self.done.setdefault(key, what)
            if fault == ANSWER_LOST:
                return None
            name = REFERENCES.get(action, "undo_id")
            return 200, {name: f"{name}-{[*self.done].index(key) + 1}"}

    def kept(self, action: str) -> int:
        """How often something was done and not taken back."""
        return sum(what[1] == action and key not in self._undone for key, what in self.done.items())


@contextmanager
def listening(services: Services) -> Iterator[str]:
    """Have the services answer on a port of loopback, under this URL, until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            key, undoes = self.headers["Idempotency-Key"], self.headers.get("Stepward-Undoes")
            answer = services.answer(self.path.removeprefix("/"), body, key, undoes)
            if answer is None:
                self.close_connection = True
                return
            document = json.dumps(answer[1]).encode()
            self.send_response(answer[0])
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(document)))
            self.end_headers()
            self.wfile.write(document)

        def log_message(self, *_: object) -> None:
            """Say nothing: the example prints what became of the orders."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
