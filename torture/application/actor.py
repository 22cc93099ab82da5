"""``python -m torture.application.actor ROLE --tethered``: ``stepward ROLE`` on the application under torture.

A tethered process drains and ends when its standard input is closed, so that it does not outlive the torture.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading

from stepward.cli.main import main as stepward

APPLICATION = "torture.application.application:app"
READY = "Ready"
"""What the line begins with that ``stepward`` prints once its actors are at work."""


def main() -> None:
    """Read the command line, and run the actor until a signal ends it."""
    parser = argparse.ArgumentParser(prog="python -m torture.application.actor", description=__doc__)
    parser.add_argument("role", choices=["scheduler", "agent", "supervisor", "submission"])
    parser.add_argument("--tethered", action="store_true", help="end when standard input is closed")
    given = parser.parse_args()
    if given.tethered:
        threading.Thread(target=_end_with_input, daemon=True).start()
    sys.argv = ["stepward", given.role, APPLICATION]
    stepward()


def _end_with_input() -> None:
    while os.read(sys.stdin.fileno(), 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
