"""Read the command line, try the mutants, and say which were found: ``python -m mutants [--area A] [--only ID]``."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from rich.console import Console

from mutants import report
from mutants.campaign import CampaignPlan, run
from mutants.mutant import Mutant, read
from mutants.trial import TrialVerdict

ROOT = Path(__file__).parent.parent
MISUSED = 2


def main() -> int:
    """0 if enough were found; 1 if not; 2 if nothing could be tried."""
    arguments = _arguments()
    try:
        every = read()
        chosen = _chosen(every, arguments)
        print(f"trying {len(chosen)} of {len(every)} mutants", flush=True)
        started = time.monotonic()
        verdicts, red = run(CampaignPlan(ROOT, chosen, jobs=arguments.jobs, seconds=arguments.seconds), _tell)
    except ValueError as error:
        print(f"mutants: {error}", file=sys.stderr)
        return MISUSED
    Console().print(report.table(chosen, verdicts))
    print(f"{time.monotonic() - started:.0f} s")
    for test in sorted(red):
        print(f"fails without a mutant: {test}")
    broken = report.broken(verdicts, is_whole=chosen == every)
    for text in broken:
        print(text)
    return 1 if broken else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m mutants", description=__doc__)
    parser.add_argument("--area", default="", help="only those of this file of the catalogue")
    parser.add_argument("--only", default="", help="only the one of this id, or AREA/ID")
    parser.add_argument("--jobs", type=int, default=1, help="copies of the tree that are used at once")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long the tests of one mutant may take")
    return parser.parse_args()


def _chosen(every: list[Mutant], arguments: argparse.Namespace) -> list[Mutant]:
    chosen = [mutant for mutant in every if arguments.area in ("", mutant.area)]
    chosen = [mutant for mutant in chosen if arguments.only in ("", mutant.id, mutant.name)]
    if not chosen or arguments.jobs < 1:
        areas = ", ".join(sorted({mutant.area for mutant in every}))
        raise ValueError(f"expected --area, --only and --jobs to leave something to try, found nothing; areas: {areas}")
    return chosen


def _tell(mutant: Mutant, verdict: TrialVerdict) -> None:
    if verdict is not TrialVerdict.FOUND:
        print(report.line(mutant, verdict), flush=True)


if __name__ == "__main__":
    sys.exit(main())
