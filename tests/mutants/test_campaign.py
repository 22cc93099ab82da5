"""What tries the mutants, tried itself on a tree with one function and a few tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from mutants import report
from mutants.campaign import CampaignPlan, run
from mutants.mutant import Mutant
from mutants.trial import Tree, TrialVerdict

CODE = """
def price(count):
    total = 0
    while count > 0:
        count -= 1
        total += 3
    return total
"""
TESTS = """
from shop import price

def test_some():
    assert price(2) == 6

def test_none():
    assert price(0) == 0

def test_red():
    assert price(2) == 7
"""


def mutant(id: str, old: str, new: str, test: str) -> Mutant:
    return Mutant(id, "src/shop.py", old, new, f"{id} is wrong.", [f"tests/test_shop.py{test}"], "shop")


FOUND = mutant("found", "+= 3", "+= 4", "::test_some")
LIVES = mutant("lives", "+= 3", "+= 4", "::test_none")
RED = mutant("red", "+= 3", "+= 4", "")
UNREADABLE = mutant("unreadable", "def price", "def price price", "::test_some")
HANGS = mutant("hangs", "count -= 1", "count -= 0", "::test_some")


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    # The plugins that the project's own tests use take longer to load than these tests to run.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    root = tmp_path / "tree"
    for name, text in {"src/shop.py": CODE, "tests/test_shop.py": TESTS, "pytest.ini": "[pytest]\n"}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


def test_each_mutant_gets_the_verdict_that_its_tests_give(tree: Path) -> None:
    told = list[str]()
    mutants = [FOUND, LIVES, RED, UNREADABLE]
    verdicts, red = run(
        CampaignPlan(tree, mutants, package="shop"), lambda mutant, verdict: told.append(f"{mutant.id} {verdict}")
    )
    assert told == ["found found", "lives lived", "red unjudged", "unreadable broken"]
    assert list(verdicts) == [each.name for each in mutants]
    assert red == {"tests/test_shop.py::test_red"}
    assert (tree / "src/shop.py").read_text(encoding="utf-8") == CODE


def test_a_mutant_whose_tests_do_not_end_has_hung_and_the_next_one_begins_with_sound_code(tree: Path) -> None:
    copy = Tree.copied(tree, tree.parent / "copy")
    assert copy.judge(HANGS, 2.0) is TrialVerdict.HUNG
    assert (copy.folder / "src/shop.py").read_text(encoding="utf-8") == CODE
    assert copy.red(LIVES.tests, 60.0)[0] == set()


def test_a_tree_whose_package_is_not_the_one_that_is_imported_is_refused(tree: Path) -> None:
    with pytest.raises(ValueError, match=r"expected tests to import stepward from .*, found "):
        run(CampaignPlan(tree, [FOUND]), lambda *_: None)


def test_mutants_that_do_not_fit_are_named_before_anything_is_tried(tree: Path) -> None:
    with pytest.raises(ValueError, match=r"shop/gone: expected its old text once in src/shop\.py, found it 0 times"):
        run(CampaignPlan(tree, [FOUND, mutant("gone", "+= 5", "+= 6", "")], package="shop"), lambda *_: None)


@pytest.mark.parametrize(
    ("verdicts", "is_whole", "broken"),
    [
        ([TrialVerdict.FOUND] * 150, True, []),
        ([TrialVerdict.FOUND] * 149, True, ["expected at least 150 mutants judged, found 149"]),
        ([TrialVerdict.FOUND] * 3, False, []),
        ([TrialVerdict.FOUND] * 190 + [TrialVerdict.LIVED] * 10, True, []),
        ([TrialVerdict.FOUND] * 189 + [TrialVerdict.HUNG] * 11, True, ["expected at least 95% found, found 94.5%"]),
        ([TrialVerdict.FOUND] * 150 + [TrialVerdict.BROKEN] * 10, True, ["expected at least 95% found, found 93.8%"]),
        (
            [TrialVerdict.FOUND] * 150 + [TrialVerdict.UNJUDGED],
            True,
            ["expected tests that pass without a mutant, found 1 mutants whose do not"],
        ),
    ],
)
def test_what_of_the_promise_does_not_hold(verdicts: list[TrialVerdict], is_whole: bool, broken: list[str]) -> None:
    assert report.broken({str(number): each for number, each in enumerate(verdicts)}, is_whole=is_whole) == broken
