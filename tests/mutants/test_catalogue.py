"""The catalogue of mutants fits the code: ``make mutants`` runs them, this only looks."""

from __future__ import annotations

import ast
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from mutants.mutant import CATALOGUE, Mutant, misfit, read
from mutants.report import LEAST

ROOT = Path(__file__).parents[2]
MUTANTS = read()
AREAS = {
    "agent",
    "cli",
    "client",
    "host",
    "http",
    "model",
    "nats",
    "outbox",
    "rabbitmq",
    "replay",
    "scheduler",
    "store_postgres",
    "store_sqlite",
    "submission",
    "supervisor",
    "transport",
    "undo",
}


@cache
def functions(file: str) -> frozenset[str]:
    """The tests of a file, as pytest names them: of a class with its name before."""
    found = set()
    for node in ast.parse((ROOT / file).read_text(encoding="utf-8")).body:
        inner = node.body if isinstance(node, ast.ClassDef) else []
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
        found |= {
            f"{node.name}::{each.name}"
            for each in inner
            if isinstance(node, ast.ClassDef) and isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)
        }
    return frozenset(found)


def is_there(test: str) -> bool:
    file, _, function = test.partition("::")
    return (ROOT / file).is_file() and (not function or function.partition("[")[0] in functions(file))


@pytest.mark.parametrize("mutant", MUTANTS, ids=[mutant.name for mutant in MUTANTS])
def test_a_mutant_fits_the_code_and_names_tests(mutant: Mutant) -> None:
    assert misfit(mutant, ROOT) is None
    assert mutant.tests
    assert [test for test in mutant.tests if not is_there(test)] == []
    assert mutant.wrong.endswith(".")


def test_each_mutant_has_a_name_of_its_own_and_changes_something_else() -> None:
    assert [name for name, count in Counter(mutant.name for mutant in MUTANTS).items() if count > 1] == []
    changes = Counter((mutant.file, mutant.old, mutant.new) for mutant in MUTANTS)
    assert [change for change, count in changes.items() if count > 1] == []


def test_there_are_enough_mutants_and_every_area_has_some() -> None:
    assert len(MUTANTS) >= LEAST
    assert {mutant.area for mutant in MUTANTS} >= AREAS


def test_a_file_that_is_no_catalogue_is_named(tmp_path: Path) -> None:
    (tmp_path / "shop.toml").write_text('[[mutant]]\nid = "x"\nfle = "shop.py"\n', encoding="utf-8")
    with pytest.raises(ValueError, match=r"shop\.toml: expected a list of \[\[mutant\]\], found .*fle"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "expected the file shop.py, found none"),
        ("x = 1\nx = 1\n", "expected its old text once in shop.py, found it 2 times"),
        ("y = 1\n", "expected its old text once in shop.py, found it 0 times"),
    ],
)
def test_a_mutant_that_does_not_fit_says_why(text: str | None, why: str, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / "shop.py").write_text(text, encoding="utf-8")
    mutant = Mutant("m", "shop.py", "x = 1", "x = 2", "x is wrong.", ["test_shop.py"], "area")
    assert why in str(misfit(mutant, tmp_path))


def test_the_catalogue_holds_nothing_but_areas() -> None:
    assert {path.suffix for path in CATALOGUE.iterdir()} == {".toml"}
