"""One campaign: the named tests once without mutants, then each mutant in one of several copies of the tree."""

from __future__ import annotations

import queue
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from mutants.mutant import Mutant, misfit
from mutants.trial import Tree, TrialVerdict, is_red


@dataclass(frozen=True, slots=True)
class CampaignPlan:
    """The mutants to try, and the folder: each mutant's tests may take ``seconds``, all tests before that
    ``sound_seconds``."""

    source: Path
    mutants: Sequence[Mutant]
    jobs: int = 1
    seconds: float = 60.0
    sound_seconds: float = 1800.0
    package: str = "stepward"


class MutantOutcome(NamedTuple):
    """The verdict on each mutant by name, and the node ids of tests that fail without any."""

    verdicts: dict[str, TrialVerdict]
    red: set[str]


def run(plan: CampaignPlan, tell: Callable[[Mutant, TrialVerdict], None]) -> MutantOutcome:
    """Try them all; raises ValueError, in words, if the tree cannot be tried at all."""
    if misfits := [text for mutant in plan.mutants if (text := misfit(mutant, plan.source))]:
        raise ValueError("\n".join(misfits))
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="stepward-mutants-")))
        trees = [Tree.copied(plan.source, folder / str(number)) for number in range(plan.jobs)]
        for tree in trees:
            _check_imported(plan.package, tree)
        red, _ = trees[0].red((test for mutant in plan.mutants for test in mutant.tests), plan.sound_seconds)
        return MutantOutcome(_judged(plan, trees, red, tell), red)


def _judged(
    plan: CampaignPlan, trees: Sequence[Tree], red: set[str], tell: Callable[[Mutant, TrialVerdict], None]
) -> dict[str, TrialVerdict]:
    free: queue.SimpleQueue[Tree] = queue.SimpleQueue()
    for tree in trees:
        free.put(tree)

    def judge(mutant: Mutant) -> TrialVerdict:
        if any(is_red(test, red) for test in mutant.tests):
            return TrialVerdict.UNJUDGED
        tree = free.get()
        try:
            return tree.judge(mutant, plan.seconds)
        finally:
            free.put(tree)

    verdicts = dict[str, TrialVerdict]()
    with ThreadPoolExecutor(len(trees)) as pool:
        for mutant, verdict in zip(plan.mutants, pool.map(judge, plan.mutants), strict=True):
            verdicts[mutant.name] = verdict
            tell(mutant, verdict)
    return verdicts


def _check_imported(package: str, tree: Tree) -> None:
    found = tree.imported_from(package)
    if not found.resolve().is_relative_to(tree.folder.resolve()):
        raise ValueError(f"expected tests to import {package} from {tree.folder}, found {found}")
