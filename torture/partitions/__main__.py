"""Torture an application over several stores, and say what held: ``python -m torture.partitions --minutes 10``."""

from __future__ import annotations

import argparse
import asyncio
import shutil
import sys
import tempfile
import time
from pathlib import Path

from torture.partitions.run import PartitionsPlan, torture_partitions
from torture.partitions.stores import KINDS, storing
from torture.partitions.transports import TRANSPORTS, carrying

MINUTE = 60.0
MOST_STORES = 4


def main() -> int:
    """0 if all held; else the logs are kept, and named with the seed."""
    parser = argparse.ArgumentParser(prog="python -m torture.partitions", description=__doc__)
    parser.add_argument(
        "--minutes", type=float, default=10.0, help="how long faults are brought about; 10 unless given"
    )
    parser.add_argument("--partitions", type=int, choices=range(1, MOST_STORES + 1), default=2)
    parser.add_argument("--store", choices=KINDS, default=KINDS[0], help="postgresql unless given")
    parser.add_argument("--transport", choices=TRANSPORTS, default=TRANSPORTS[0], help="store unless given")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="what the faults are drawn from")
    given = parser.parse_args()
    if given.partitions == 1 and given.store != "sqlite":
        parser.error("--partitions: expected 1 for stores in SQLite files alone, which take in others; give 2 or more")
    logs = Path(tempfile.mkdtemp(prefix="stepward-partitions-logs-"))
    what = f"torture of {given.partitions} partitions on {given.store} over {given.transport}"
    print(f"{what} for {given.minutes:g} minutes, seed {given.seed}", flush=True)
    with storing(given.store, given.partitions) as stores, carrying(given.transport) as transport:
        seconds = given.minutes * MINUTE
        plan = PartitionsPlan(stores=stores, transport=transport, seconds=seconds, seed=given.seed, logs=logs)
        verdict = asyncio.run(torture_partitions(plan))
    print(verdict.table)
    if verdict.broken:
        print("\n".join(f"broken: {line}" for line in (*verdict.broken, f"logs are in {logs}")), file=sys.stderr)
        return 1
    shutil.rmtree(logs)
    print("all of it holds")
    return 0


if __name__ == "__main__":
    sys.exit(main())
