"""The corpus: seeds that once found a bug of the library, and programs whose ends are computed; each runs for ever."""

from __future__ import annotations

from pathlib import Path

import pytest

from simulation.corpus import Corpus
from simulation.run import Result, run_seed
from tests.tiers import sampled

CORPUS = Corpus(Path(__file__).parent / "corpus")
SEEDS = CORPUS.seeds()


def told(result: Result) -> str:
    return "\n".join([*result.timeline, *result.violations])


@pytest.mark.parametrize("plain", sampled((True, False), True), ids=["as it was", "as it is"])
@pytest.mark.parametrize("name", SEEDS)
def test_seed_holds(name: str, plain: bool) -> None:
    result = run_seed(SEEDS[name], plain=plain)
    assert not result.violations, told(result)


@pytest.mark.parametrize("seed", [7, 14, 16])
def test_programs_end_as_computed(seed: int) -> None:
    result = run_seed(seed, experiments=CORPUS.experiments())
    assert not result.violations, told(result)


def test_a_line_that_is_none_is_named(tmp_path: Path) -> None:
    (tmp_path / "seeds.txt").write_text("# a comment\n12 good\nbad\n")
    with pytest.raises(ValueError, match=r"seeds.txt:3: expected a seed and a name, found 'bad'"):
        Corpus(tmp_path).seeds()
