"""``python -m benchmarks [--store S] [NAME …]``: run the measures, each in a fresh process, beside their targets."""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.catalogue import STORES
from benchmarks.report import show
from benchmarks.versions import versions
from stepward.host import tune_process


def main(arguments: list[str]) -> int:
    """Run those measures, or all; 1 if a target was missed, 2 for what cannot be run."""
    asked = _parsed(arguments)
    if asked.store not in STORES:
        return _refuse("store", " or ".join(STORES), repr(asked.store))
    catalogue = STORES[asked.store]
    if unknown := sorted(set(asked.names) - catalogue.measures.keys()):
        return _refuse("measures", f"some of {'; '.join(catalogue.measures)}", "; ".join(unknown))
    if asked.here:
        _here(asked.store, asked.names[0])
        return 0
    results = {name: _in_fresh_process(asked.store, name) for name in asked.names or catalogue.measures}
    found = versions(asked.store)
    catalogue.results.parent.mkdir(exist_ok=True)
    catalogue.results.write_text(json.dumps({"versions": found, **results}, indent=2) + "\n")
    reached = show(catalogue.title, results, catalogue.targets)
    print(", ".join(f"{name} {version}" for name, version in found.items()))
    print(f"also in {catalogue.results}")
    return 0 if reached else 1


def _parsed(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("--store", default="sqlite")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("names", nargs="*")
    return parser.parse_args(arguments)


def _refuse(what: str, expected: str, found: str) -> int:
    print(f"benchmarks: {what}: expected {expected}, found {found}", file=sys.stderr)
    return 2


def _in_fresh_process(store: str, name: str) -> dict[str, float]:
    print(f"{name} …", flush=True)
    command = [sys.executable, "-m", "benchmarks", "--here", "--store", store, name]
    ran = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    figures: dict[str, float] = json.loads(ran.stdout.splitlines()[-1])
    return figures


def _here(store: str, name: str) -> None:
    tune_process()
    catalogue = STORES[store]
    with tempfile.TemporaryDirectory(prefix="stepward-bench-") as folder, catalogue.place(Path(folder)) as place:
        print(json.dumps(asyncio.run(catalogue.measures[name](place))))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
