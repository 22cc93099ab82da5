"""The Python of the documentation under mypy --strict and pyright: what is right passes, what is marked wrong fails."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.pages.page_programs import FOLDER, ROOT, Program, programs, write
from tests.programs import npm_file, program

pytestmark = pytest.mark.servers

PYRIGHT = ROOT / "build/npm/node_modules/pyright/index.js"
EXAMPLES = [f"../../examples/{name}" for name in ("frameworks", "transactions", "approval.py", "pipeline.py")]
"""What a learner reads; mypy checks it with the tree."""
UNTYPED = ["../../examples/frameworks/with_celery.py"]
"""Celery has no types."""
Found = dict[str, str]
"""The message for each place that is refused."""


@pytest.fixture(scope="module")
def written() -> dict[str, Program]:
    """Every program of the pages, by the file that it is in."""
    found = programs()
    write(found)
    return {str(ROOT / FOLDER / f"{each.name}.py"): each for each in found}


def _marked(written: dict[str, Program]) -> set[str]:
    return {place for each in written.values() for place in each.wrong()}


def _compared(found: Found, marked: set[str]) -> list[str]:
    """What differs between the lines that are refused and those that are marked."""
    unmarked = [f"{place}: {said}" for place, said in sorted(found.items()) if place not in marked]
    return unmarked + [f"{place}: expected to be refused, and is not" for place in sorted(marked - found.keys())]


def test_mypy_refuses_what_is_marked_wrong_and_nothing_else(written: dict[str, Program]) -> None:
    words = [sys.executable, "-m", "mypy", "--no-error-summary", "--output", "json", *sorted(written)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    said = (json.loads(line) for line in done.stdout.splitlines())
    found = dict(
        _place(written, str(ROOT / each["file"]), each["line"], each["message"])
        for each in said
        if each["severity"] == "error"
    )
    assert "\n".join(_compared(found, _marked(written))) == ""


def test_pyright_refuses_what_is_marked_wrong_and_nothing_else(written: dict[str, Program]) -> None:
    npm_file(PYRIGHT)
    settings = {
        "include": [".", *EXAMPLES],
        "exclude": UNTYPED,
        "extraPaths": [str(ROOT), str(ROOT / "src")],
        "pythonVersion": "3.11",
    }
    (ROOT / FOLDER / "pyrightconfig.json").write_text(json.dumps(settings), "utf-8")
    words = [program("node", "Debian's package nodejs"), str(PYRIGHT), "--outputjson", "--pythonpath", sys.executable]
    words += ["--project", str(ROOT / FOLDER)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    report = json.loads(done.stdout)
    assert report["summary"]["filesAnalyzed"] >= len(written)
    found = dict(_refused_by_pyright(written, report))
    assert "\n".join(_compared(found, _marked(written))) == ""


def _refused_by_pyright(
    written: dict[str, Program], report: dict[str, list[dict[str, object]]]
) -> Iterator[tuple[str, str]]:
    for each in report["generalDiagnostics"]:
        if each["severity"] == "error":
            yield _place(written, str(each["file"]), each["range"]["start"]["line"] + 1, str(each["message"]))  # type: ignore[index]


def _place(written: dict[str, Program], file: str, line: int, message: str) -> tuple[str, str]:
    found = written.get(file)
    return (f"{file}:{line}" if found is None else found.places[line - 1], message)
