"""Named queries: SQL lives in ``.sql`` files beside the module that runs it.

Each query opens with ``-- name: x`` and a comment line of purpose. ``{word}`` stands for a fragment that the
module gives, such as the columns of a record.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from importlib.resources import files

NAME = re.compile(r"^-- name: *(\w+) *$", re.MULTILINE)
FRAGMENT = re.compile(r"\{(\w+)\}")


def load_queries(package: str, file: str, fragments: Mapping[str, str] | None = None) -> dict[str, str]:
    """The queries of a file by name, without comments; raises ValueError for one that is written wrongly."""
    text = (files(package) / file).read_text(encoding="utf-8")
    return parse_queries(text, file, fragments or {})


def read_catalogue(package: str, folders: Iterable[str], fragments: Mapping[str, str]) -> dict[str, str]:
    """The queries of every ``.sql`` file in those folders of a package, by file and name: ``turn.finish``."""
    catalogue: dict[str, str] = {}
    for folder in folders:
        for file in (files(package) / folder).iterdir():
            stem, _, ending = file.name.rpartition(".")
            if ending == "sql":
                queries = parse_queries(file.read_text(encoding="utf-8"), file.name, fragments)
                catalogue |= {f"{stem}.{query}": sql for query, sql in queries.items()}
    return catalogue


def parse_queries(text: str, file: str, fragments: Mapping[str, str]) -> dict[str, str]:
    """As ``load_queries``, from a text."""
    parts = NAME.split(text)
    queries: dict[str, str] = {}
    for name, body in zip(parts[1::2], parts[2::2], strict=True):
        if name in queries:
            raise ValueError(f"{file}: expected each name once, found {name} twice; rename one")
        queries[name] = _statement(body, f"{file}: {name}", fragments)
    return queries


def _statement(body: str, what: str, fragments: Mapping[str, str]) -> str:
    lines = body.strip().splitlines()
    if not lines or not lines[0].startswith("-- "):
        raise ValueError(f"{what}: expected a comment line of purpose below the name, found none; write one")
    statement = "\n".join(line for line in lines if not line.startswith("--")).strip().removesuffix(";")
    if not statement:
        raise ValueError(f"{what}: expected a statement, found none; write one")
    unknown = set(FRAGMENT.findall(statement)) - set(fragments)
    if unknown:
        raise ValueError(f"{what}: expected fragments of {sorted(fragments)}, found {sorted(unknown)}; give them")
    return FRAGMENT.sub(lambda match: fragments[match[1]], statement)
