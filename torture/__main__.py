"""Read the command line, torture, and say what held: ``python -m torture --minutes 10 [--seed N]``."""

from __future__ import annotations

import argparse
import asyncio
import math
import shutil
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from torture import report
from torture.run import TorturePlan, torture
from torture.servers.broker import KINDS, chosen
from torture.servers.cluster import clustered
from torture.signals import Ending

MINUTE = 60.0
LONGEST_SEED = 18
MISUSED = 2
TRANSPORTS = (*KINDS, "store")


def main() -> int:
    """0 if all held; else the folder is kept, and named with the seed."""
    try:
        plan = _plan()
    except ValueError as error:
        print(f"torture: {error}", file=sys.stderr)
        return MISUSED
    ending = Ending()
    ending.install()
    seed = plan.seed
    folder = Path(tempfile.mkdtemp(prefix="stepward-torture-"))
    print(f"torture for {plan.seconds / MINUTE:g} minutes, seed {seed}", flush=True)
    try:
        with clustered(folder) as cluster:
            verdict = asyncio.run(ending.bound(torture(plan, cluster, folder)))
    except asyncio.CancelledError:
        if ending.exit_code is None:
            raise
        print(f"ended by a signal; logs are in {folder}", file=sys.stderr)
        return ending.exit_code
    print(f"\n{verdict.table}\n")
    if verdict.broken:
        print(report.broken(verdict.broken))
        print(f"seed {seed}; logs, ledger and books are in {folder}")
        return 1
    shutil.rmtree(folder)
    print("all of it holds")
    return 0


def _plan() -> TorturePlan:
    """What the command line asks for; raises ValueError, in words."""
    parser = argparse.ArgumentParser(prog="python -m torture", description=__doc__)
    parser.add_argument("--minutes", default="10", help="how long faults are brought about; 10 unless given")
    parser.add_argument(
        "--transport", default=None, help="nats, rabbitmq, amqp10, activemq or store; drawn from the seed unless given"
    )
    parser.add_argument("--seed", default=None, help="what the faults are drawn from; another each time")
    given = parser.parse_args()
    seed = int(time.time()) if given.seed is None else _seed(given.seed)
    transport = chosen(seed) if given.transport is None else _transport(given.transport)
    return TorturePlan(seconds=_minutes(given.minutes) * MINUTE, seed=seed, transport=transport)


def _transport(text: str) -> str:
    if text not in TRANSPORTS:
        raise ValueError(
            f"transport: expected {', '.join(TRANSPORTS)}, found {text[:40]!r}; say TRANSPORT=nats, or nothing"
        )
    return text


def _minutes(text: str) -> float:
    with suppress(ValueError):
        if 0 < (minutes := float(text)) < math.inf:
            return minutes
    raise ValueError(f"minutes: expected a number above 0, found {text[:40]!r}; say MINUTES=10, or nothing")


def _seed(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= LONGEST_SEED):
        raise ValueError(f"seed: expected a whole number, found {text[:40]!r}; say SEED=1, or nothing")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
