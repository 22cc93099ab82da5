"""No words that personify or hint, in docstrings, comments, names of tests, SQL and documents."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = (
    "src/stepward",
    "tests",
    "torture",
    "servers",
    "showcase",
    "examples",
    "simulation",
    "benchmarks",
    "mutants",
)
PERSONS = r"\b(nobody|somebody|anybody|everybody|whoever|told|heard|word of|a word from|what was said|by halves|anew)\b"
REFERENCE = r"(?-i:See) [`A-Z]\S*\.?"
WORDS = re.compile(rf"{PERSONS}|^\W*{REFERENCE}$", re.IGNORECASE)
"""Persons in place of processes, ``told`` and ``heard`` in place of the field's verbs (sent, received, reported,
raised), ``anew`` for again, and ``See X.`` in place of a docstring: that of a Protocol is inherited."""
CODE = re.compile(r"``[^`]+``")
"""Names of code within prose, which do not count."""
RIDDLES = re.compile(
    r"^(Whoever|Who|Whose|Whom|The ones? (that|which|who|of)|A new one|By when|From where|Of which"
    r"|All of (it|them)|Them"
    r"|What (is|was|were|came|comes|goes|stands|stood|may|leaves|has|had|becomes|happens|waits|can|could)"
    r"|Those (that|who|at|still)|Nothing (?!to )|Why (it|they)|Where (it|they)|How (it|they))\b"
)
"""Beginnings of docstrings that name no thing: a reader learns only from the code below what is meant."""
ANYWHERE = re.compile(rf"{PERSONS}|{REFERENCE}", re.IGNORECASE)
QUOTED_RIDDLES = re.compile("[\"']" + RIDDLES.pattern.removeprefix("^"))
"""The same anywhere in a source: a module without a match is not parsed, which takes most of the time."""
SQL_VERBS = re.compile(
    "Acknowledges|Adds|Appends|Cancels|Claims|Clears|Closes|Copies|Counts|Creates|Declares|Deletes|Ends|Extends|Fills"
    "|Inserts|Lets|Locks|Makes|Marks|Moves|Notifies|Opens|Pauses|Records|Registers|Releases|Removes|Replaces|Restarts"
    "|Resumes|Returns|Revokes|Sets|Starts|Suspends|Takes|Terminates|Updates|Waits|Writes"
)
"""The verbs in the third person that the purpose of a named query begins with."""


def _texts(source: str) -> Iterator[str]:
    """Docstrings, comments and the names of tests, as words."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value.value
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            yield node.name.replace("_", " ")
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string


def personified(source: str) -> list[str]:
    """The texts of a module that have such words, names of code within them left out."""
    if not ANYWHERE.search(source.replace("_", " ")):
        return []
    return [text for text in _texts(source) if WORDS.search(CODE.sub("``X``", text))]


def riddles(source: str) -> list[str]:
    """The docstrings of a module that begin so."""
    if not QUOTED_RIDDLES.search(source):
        return []
    found = (node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Expr))
    texts = (value.value for value in found if isinstance(value, ast.Constant) and isinstance(value.value, str))
    return [text for text in texts if RIDDLES.match(text)]


def test_no_docstring_begins_as_a_riddle() -> None:
    paths = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py")) if path != Path(__file__)]
    found = [(path, text) for path in paths for text in riddles(path.read_text("utf-8"))]
    assert found == [], "begin with the thing that is meant, or with what the function does in the third person"


@pytest.mark.parametrize(
    ("text", "is_riddle"),
    [
        ("What is asked for.", True),
        ("Those that ended.", True),
        ("A new one.", True),
        ("Those of the tasks that have ended.", False),
        ("What a route requires of a principal.", False),
        ("Nothing to stop: no message arrives without a pull.", False),
    ],
)
def test_docstrings_without_a_subject_are_found(text: str, is_riddle: bool) -> None:
    assert riddles(f'def f():\n    """{text}"""\n') == ([text] if is_riddle else [])


def sql_comments(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.lstrip().startswith("--")]


def purposes(text: str) -> list[str]:
    """The first word of the comment below each ``-- name: x``; ``The same`` counts as a verb."""
    lines = text.splitlines()
    named = [below for line, below in pairwise(lines) if line.startswith("-- name:")]
    return [below.removeprefix("-- ").replace("The same", "Returns").split(" ")[0].rstrip(",.") for below in named]


def _sql() -> dict[str, str]:
    folders = (ROOT / folder for folder in FOLDERS)
    found = sorted(path for folder in folders for path in folder.rglob("*.sql"))
    return {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in found}


def prose_of(markdown: str) -> list[str]:
    """The lines of a document outside blocks and spans of code."""
    without_blocks = re.sub(r"^ *```.*?^ *```", "", markdown, flags=re.MULTILINE | re.DOTALL)
    return [re.sub(r"`[^`]*`", "", line) for line in without_blocks.splitlines()]


def _documents() -> dict[str, str]:
    """The documents for users and developers; decision records are as they were decided."""
    found = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "examples").rglob("*.md")]
    paths = sorted([*found, *(ROOT / "showcase").glob("*.md")])
    return {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in paths if path.name != "CHANGELOG.md"}


def test_documents_have_none_of_these_words() -> None:
    found = [f"{name}: {line}" for name, text in _documents().items() for line in prose_of(text) if WORDS.search(line)]
    assert found == [], "say it in the field's words: which process does what, and what a person sees"


def test_words_within_code_of_a_document_do_not_count() -> None:
    assert prose_of("It is `told`.\n```console\nlocked by nobody\n```\nSomebody") == ["It is .", "", "Somebody"]


def test_comments_in_sql_have_none_of_these_words() -> None:
    found = [f"{name}: {line}" for name, text in _sql().items() for line in sql_comments(text) if WORDS.search(line)]
    assert found == [], "say it in the field's words: which process or transaction does what"


def test_the_purpose_of_each_query_begins_with_a_verb_in_the_third_person() -> None:
    found = {name: first for name, text in _sql().items() for first in purposes(text) if not SQL_VERBS.fullmatch(first)}
    assert found == {}, "begin with what the query does, as in 'Returns the live Schedulers.'"


def test_purposes_without_a_verb_are_found() -> None:
    text = "-- name: a\n-- Returns tasks.\nselect 1\n\n-- name: b\n-- Who leads.\nselect 1\n-- name: c\n-- The same.\n"
    assert purposes(text) == ["Returns", "Who", "Returns"]
    assert [WORDS.search(line) is not None for line in sql_comments("-- somebody has it\nselect 'told'\n")] == [True]


def test_no_docstring_comment_or_name_of_a_test_has_these_words() -> None:
    paths = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py") if path != Path(__file__)]
    found = [f"{path}: {text}" for path in sorted(paths) for text in personified(path.read_text("utf-8"))]
    assert found == [], "say it in the field's words: who sends, receives, reports or raises what"


@pytest.mark.parametrize(
    "source",
    [
        '"""Whoever asks is answered."""',
        "def test_nobody_is_told() -> None: ...",
        "x = 1  # somebody else has it",
        'def f():\n    """See Process."""',
    ],
)
def test_such_words_are_found_in_prose(source: str) -> None:
    assert len(personified(source)) == 1


@pytest.mark.parametrize(
    "source",
    [
        '"""See `names.md` for the rule."""',
        '"""Calls ``told`` with the reply."""',
        "nobody = 'told'",
        '"""Sends the reply, and raises TransportError."""',
    ],
)
def test_such_words_do_not_count_in_code(source: str) -> None:
    assert personified(source) == []
