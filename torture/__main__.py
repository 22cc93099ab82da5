"""Read the command line, torture, and say what held: ``python -m torture --minutes 10 [--seed N]``."""

from __future__ import annotations

import argparse
import asyncio
import math
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

from servers.postgres import paired
from torture import report
from torture.run import SERVER, Plan, torture

MINUTE = 60.0


def main() -> int:
    """0 if all held; else the folder is kept, and named with the seed."""
    parser = argparse.ArgumentParser(prog="python -m torture", description=__doc__)
    parser.add_argument(
        "--minutes", type=_minutes, default=10.0, help="how long faults are brought about; 10 unless given"
    )
    parser.add_argument("--seed", type=int, default=None, help="what the faults are drawn from; another each time")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, _end)
    seed = int(time.time()) if arguments.seed is None else arguments.seed
    folder = Path(tempfile.mkdtemp(prefix="stepward-torture-"))
    print(f"torture for {arguments.minutes:g} minutes, seed {seed}", flush=True)
    with paired(settings=SERVER) as pair:
        verdict = asyncio.run(torture(Plan(seconds=arguments.minutes * MINUTE, seed=seed), pair, folder))
    print(f"\n{verdict.table}\n")
    if verdict.broken:
        print(report.broken(verdict.broken))
        print(f"seed {seed}; logs, ledger and books are in {folder}")
        return 1
    shutil.rmtree(folder)
    print("all of it holds")
    return 0


def _minutes(text: str) -> float:
    minutes = float(text)
    if not 0 < minutes < math.inf:
        raise ValueError(text)
    return minutes


def _end(number: int, frame: object) -> None:
    """Leave in good order, so that the servers end with us."""
    sys.exit(128 + number)


if __name__ == "__main__":
    sys.exit(main())
