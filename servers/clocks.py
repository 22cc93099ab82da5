"""Wall clocks of processes that others move while they run, through libfaketime."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

LIBRARIES = (
    *Path("/usr/lib").glob("*/faketime/libfaketime.so.1"),
    *Path("/usr/lib/faketime").glob("libfaketime.so.1"),
    *Path("/usr/lib64/faketime").glob("libfaketime.so.1"),
)
"""Where distributions have it; tests/install-programs installs it."""


class MovedClock:
    """The wall clock of all processes that are begun with ``environment``; it runs right until it is moved."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "clock"
        self.move("+0")

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment of a process with this clock. The boot clock stays right: it cannot be set on a host."""
        return {
            "LD_PRELOAD": str(LIBRARIES[0]),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "DONT_FAKE_MONOTONIC": "1",
        }

    def move(self, text: str) -> None:
        """From now on it is ahead by so many seconds (``+60``), or behind, and runs so fast (``+0 x1.05``)."""
        new = self._file.with_suffix(".new")
        new.write_text(f"{text}\n")
        new.chmod(0o644)
        new.replace(self._file)
