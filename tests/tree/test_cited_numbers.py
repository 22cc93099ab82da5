"""Numbers of requirements and invariants that code and pages cite can be looked up in ``docs``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("src", "tests", "simulation", "torture", "benchmarks", "examples", "showcase", "docs")
CITED = re.compile(r"\b[RBSL][1-9][0-9]?\b")
DEFINED = re.compile(r"^\| ([RBSL][1-9][0-9]?) \|", re.MULTILINE)
PAGES = ("docs/requirements.md", "docs/invariants.md")


def _undefined(texts: Iterable[tuple[str, str]], defined: set[str]) -> list[str]:
    return [f"{name}: {number}" for name, text in texts for number in sorted(set(CITED.findall(text)) - defined)]


def _defined() -> list[str]:
    return [number for page in PAGES for number in DEFINED.findall((ROOT / page).read_text("utf-8"))]


def test_every_number_that_is_cited_is_defined() -> None:
    files = [path for folder in FOLDERS for end in ("py", "md", "sql") for path in (ROOT / folder).rglob(f"*.{end}")]
    ours = sorted(path for path in files if "node_modules" not in path.parts and path != Path(__file__))
    texts = [(path.relative_to(ROOT).as_posix(), path.read_text("utf-8")) for path in ours]
    assert _undefined(texts, set(_defined())) == []


def test_each_number_is_defined_once() -> None:
    defined = _defined()
    assert len(defined) == len(set(defined)) > 80


def test_a_number_that_no_page_defines_is_found() -> None:
    assert _undefined([("a.py", "holds S1 and S99")], {"S1"}) == ["a.py: S99"]
