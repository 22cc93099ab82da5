"""What a campaign found, as a table by area and a line for each mutant that was not found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from rich.table import Table

from mutants.mutant import Mutant
from mutants.trial import TrialVerdict

LEAST_SHARE = 0.95
LEAST = 150
"""Mutants that a whole campaign must judge."""


def table(mutants: Sequence[Mutant], verdicts: Mapping[str, TrialVerdict]) -> Table:
    """How many of each area's mutants came to which end."""
    drawn = Table("area", *TrialVerdict, "share")
    for area in sorted({mutant.area for mutant in mutants}):
        drawn.add_row(area, *_cells([verdicts[mutant.name] for mutant in mutants if mutant.area == area]))
    drawn.add_section()
    drawn.add_row("all", *_cells(list(verdicts.values())))
    return drawn


def line(mutant: Mutant, verdict: TrialVerdict) -> str:
    """One mutant that was not found: what it is, and which tests let it pass."""
    return f"{verdict}: {mutant.name}: {mutant.wrong}\n  {mutant.file}; {' '.join(mutant.tests)}"


def broken(verdicts: Mapping[str, TrialVerdict], *, is_whole: bool) -> list[str]:
    """What of the promise does not hold."""
    counts = Counter(verdicts.values())
    judged = counts.total() - counts[TrialVerdict.UNJUDGED]
    found = list[str]()
    if counts[TrialVerdict.UNJUDGED]:
        found.append(
            f"expected tests that pass without a mutant, found {counts[TrialVerdict.UNJUDGED]} mutants whose do not"
        )
    if _share(counts) < LEAST_SHARE:
        found.append(f"expected at least {LEAST_SHARE:.0%} found, found {_share(counts):.1%}")
    if is_whole and judged < LEAST:
        found.append(f"expected at least {LEAST} mutants judged, found {judged}")
    return found


def _cells(verdicts: Sequence[TrialVerdict]) -> list[str]:
    counts = Counter(verdicts)
    return [*(str(counts[verdict] or "") for verdict in TrialVerdict), f"{_share(counts):.0%}"]


def _share(counts: Counter[TrialVerdict]) -> float:
    judged = sum(count for verdict, count in counts.items() if verdict is not TrialVerdict.UNJUDGED)
    return counts[TrialVerdict.FOUND] / judged if judged else 0.0
