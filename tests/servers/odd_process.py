"""`python -m tests.servers.odd_process KIND`: processes that do not behave, for the tests of those that keep them."""

from __future__ import annotations

import signal
import sys
from pathlib import Path


def main() -> None:
    kind = sys.argv[1]
    if kind == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if kind == "lost" or (kind == "once" and _has_been_here()):
        sys.exit("there is no place to be")
    if kind != "mute":
        print(f"{kind} ready", flush=True)
    sys.stdin.read()


def _has_been_here() -> bool:
    trace = Path(sys.argv[2])
    if trace.exists():
        return True
    trace.touch()
    return False


if __name__ == "__main__":
    main()
