"""The files of code that documents name exist."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = (
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "README.md",
    *(f"docs/{p.name}" for p in (ROOT / "docs").glob("*.md")),
)
CITED = re.compile(r"`([\w./-]+\.(?:py|sql))`")
FOLDERS = ("src", "tests", "torture", "simulation", "mutants", "benchmarks", "showcase", "examples", "servers")
OF_READERS = {"shop.py", "app.py", "job.py", "orders.py"}
"""Files of applications that documents write about."""


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_file_of_code_that_a_document_names_exists(document: str) -> None:
    known = [str(file) for folder in FOLDERS for file in (ROOT / folder).rglob("*.*")]
    cited = set(CITED.findall((ROOT / document).read_text())) - OF_READERS
    assert [file for file in sorted(cited) if not any(each.endswith(f"/{file}") for each in known)] == []


def test_the_index_of_documents_lists_every_page() -> None:
    index = (ROOT / "docs" / "README.md").read_text()
    pages = {page.name for page in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert {page for page in pages if f"]({page})" not in index} == set()


def test_the_architecture_names_every_folder_and_module_of_the_package() -> None:
    architecture = (ROOT / "ARCHITECTURE.md").read_text()
    package = [path for path in (ROOT / "src" / "stepward").iterdir() if not path.name.startswith("_")]
    named = [f"{path.name}/" if path.is_dir() else path.name for path in package if path.suffix in {"", ".py"}]
    assert [name for name in sorted(named) if name not in architecture] == []


def test_the_pages_for_developers_show_the_import_layers() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contract = settings["tool"]["importlinter"]["contracts"][0]
    layers = [layer.replace("(", "").replace(")", "") for layer in contract["layers"]]
    assert "\n".join(layers) in (ROOT / "CONTRIBUTING.md").read_text()
    shown = " ".join((ROOT / "ARCHITECTURE.md").read_text().split())
    assert " → ".join(layers).replace("submission | scheduler | agent | supervisor", "actors") in shown
