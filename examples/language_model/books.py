"""The books of the pretended services: a line in a file for each event, appended and never changed."""

from __future__ import annotations

import fcntl
import json
from pathlib import Path
from typing import Any


class Books:
    """The bills and payments by idempotency key, and the approver's mailbox."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._mailbox = Path(f"{path}.mailbox")

    def count(self, what: str, key: str) -> int:
        """Enter an event; how often it was entered under this key."""
        with self._path.open("a+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.write(json.dumps({"what": what, "key": key}) + "\n")
            file.flush()
            file.seek(0)
            return sum(entry == {"what": what, "key": key} for entry in map(json.loads, file))

    def once(self, what: str, key: str) -> None:
        """Enter an event, unless it was entered under this key: a service that knows keys."""
        if key not in self.keys(what):
            self.count(what, key)

    def keys(self, what: str) -> list[str]:
        """The keys under which an event was entered, in order."""
        lines = self._path.read_text().splitlines() if self._path.exists() else []
        entries: list[dict[str, Any]] = [json.loads(line) for line in lines]
        return [entry["key"] for entry in entries if entry["what"] == what]

    def post(self, token: str) -> None:
        """Put a token into the mailbox, whole or not at all."""
        draft = self._mailbox.with_suffix(".draft")
        draft.write_text(token)
        draft.replace(self._mailbox)

    def token(self) -> str | None:
        """The token in the mailbox, if there is one."""
        return self._mailbox.read_text() if self._mailbox.exists() else None
