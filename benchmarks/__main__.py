"""``python -m benchmarks [NAME …]``: run the measures, each in a fresh process, and print them beside their targets."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.measures import MEASURES
from benchmarks.report import show
from stepward.host import tune_process

RESULTS = Path("build/bench.json")


def main(names: list[str]) -> int:
    """Run those measures, or all; 1 if a target was missed."""
    unknown = set(names) - MEASURES.keys()
    if unknown:
        print(f"benchmarks: expected some of {', '.join(MEASURES)}, found {', '.join(sorted(unknown))}")
        return 2
    results = {}
    for name in names or MEASURES:
        print(f"{name} …", flush=True)
        results[name] = _in_fresh_process(name)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(results, indent=2) + "\n")
    reached = show(results)
    print(f"also in {RESULTS}")
    return 0 if reached else 1


def _in_fresh_process(name: str) -> dict[str, float]:
    ran = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--here", name], check=True, stdout=subprocess.PIPE, text=True
    )
    figures: dict[str, float] = json.loads(ran.stdout.splitlines()[-1])
    return figures


def _here(name: str) -> None:
    tune_process()
    with tempfile.TemporaryDirectory(prefix="stepward-bench-") as folder:
        print(json.dumps(asyncio.run(MEASURES[name](Path(folder)))))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--here"]:
        _here(sys.argv[2])
    else:
        sys.exit(main(sys.argv[1:]))
