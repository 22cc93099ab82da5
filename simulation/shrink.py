"""``python -m simulation.shrink --seed N``: the smallest world in which a broken seed still breaks so.

Faults, tasks and processes are left out by bisection for as long as the same invariant breaks. A smaller world draws
its chances otherwise, so each is tried in a few orders of what happens at one instant.
"""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace

from simulation.planted_bugs.bugs import BUGS, planted
from simulation.reduction import WHOLE, Cut
from simulation.run import Result, run_seed

SALTS = 4
"""Orders in which each smaller world is tried."""
ROUNDS = 4
"""How often all kinds of parts are gone through; mostly the second round finds nothing more."""
KINDS = ("faults", "tasks", "processes")


class Shrinker:
    """Searches from one broken seed; ``cut`` and ``result`` are the smallest broken world known."""

    def __init__(self, seed: int, *, direct: bool = False) -> None:
        self._seed = seed
        self._direct = direct
        self.cut = WHOLE
        self.result = run_seed(seed, direct=direct)
        self._invariant = _invariant(self.result)

    @property
    def is_broken(self) -> bool:
        """Whether the whole world breaks at all."""
        return self._invariant is not None

    def shrink(self) -> None:
        """Leave out whatever is not needed."""
        for _ in range(ROUNDS):
            before = self.cut
            for kind in KINDS:
                self._shrink(kind)
            if self.cut == before:
                return

    def _shrink(self, kind: str) -> None:
        parts: list[str] = getattr(self.result.parts, kind)
        smallest(parts, lambda kept: self._breaks_without(kind, frozenset(parts) - frozenset(kept)))

    def _breaks_without(self, kind: str, names: frozenset[str]) -> bool:
        smaller = replace(self.cut, **{kind: getattr(self.cut, kind) | names})
        for salt in range(SALTS):
            cut = replace(smaller, salt=salt)
            result = run_seed(self._seed, cut=cut, direct=self._direct)
            gc.collect()
            if _invariant(result) == self._invariant:
                self.cut, self.result = cut, result
                return True
        return False


def smallest(parts: Sequence[str], breaks: Callable[[Sequence[str]], bool]) -> Sequence[str]:
    """Halves, quarters, … are left out for as long as what is kept still breaks."""
    kept, size = list(parts), max(1, len(parts) // 2)
    while kept:
        at = 0
        while at < len(kept):
            fewer = kept[:at] + kept[at + size :]
            if breaks(fewer):
                kept = fewer
            else:
                at += size
        if size == 1:
            break
        size //= 2
    return kept


def main(arguments: Sequence[str] | None = None) -> int:
    """Shrink and tell; 1 if the seed breaks, 0 if there is nothing to shrink."""
    options = _options(arguments)
    gc.collect()
    gc.freeze()
    with planted(options.bug):
        shrinker = Shrinker(options.seed, direct=options.direct)
        whole = shrinker.result
        if not shrinker.is_broken:
            print(f"seed {options.seed} holds: nothing to shrink")
            return 0
        shrinker.shrink()
    _tell(whole, shrinker.result, shrinker.cut)
    return 1


def _tell(whole: Result, result: Result, cut: Cut) -> None:
    print("\n".join(result.timeline))
    print("\n".join(result.violations[:5]))
    print(f"seed {result.seed}, order {cut.salt}: {result.description}")
    for kind in KINDS:
        before, after = getattr(whole.parts, kind), getattr(result.parts, kind)
        print(f"{kind}: {', '.join(after) or 'none'} ({len(after)} of {len(before)})")


def _invariant(result: Result) -> str | None:
    return result.violations[0].partition(":")[0] if result.violations else None


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m simulation.shrink", description=__doc__)
    parser.add_argument("--seed", type=int, required=True, help="a seed that breaks")
    parser.add_argument("--bug", choices=sorted(BUGS), help="plant this bug first")
    parser.add_argument("--direct", action="store_true", help="messages in memory pass by plain calls")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
