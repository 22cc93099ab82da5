"""The Python of the documentation as programs: each page's blocks, behind what the page presumes.

``page_preludes.toml`` holds what a page presumes, such as the imports of an excerpt. A block that begins with
``# shop.py`` is a program of that name, and so is each block of a page whose blocks are alternatives. Statements that
await stand in an ``async def``, as they do in the reader's program.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PRELUDES = tomllib.loads(Path(__file__).with_name("page_preludes.toml").read_text("utf-8"))
FOLDER = "build/pages"
"""Below the root; type checkers keep what they know of a file by its path."""
EXCERPTS = {"docs/frameworks.md"}
"""Pages whose blocks are compared with files of ``examples/``, which the type checkers read themselves."""
FENCE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE_NAME = re.compile(r"# (\w+)\.py\b")
IMPORTED = {"app": "tutorial_app", "orders": "tutorial_web_orders", "shop": "readme_shop"}
"""The programs that pages import, by the names that they have there."""
DECLARATIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
WRONG = "  # wrong: "
"""Marks a line that type checkers refuse, and says why."""


class Program(NamedTuple):
    """A module made of blocks, with the place in the documentation of each of its lines."""

    name: str
    text: str
    places: tuple[str, ...]

    def wrong(self) -> set[str]:
        """The places of the lines that type checkers refuse."""
        lines = zip(self.text.splitlines(), self.places, strict=True)
        return {place for line, place in lines if WRONG in line}


class Block(NamedTuple):
    """A block of a page, and the line in which its code begins."""

    page: str
    line: int
    code: str


def blocks(page: Path) -> list[Block]:
    """The blocks of Python of a page."""
    text = page.read_text("utf-8")
    name = page.relative_to(ROOT).as_posix()
    return [Block(name, text.count("\n", 0, found.start()) + 2, found[1]) for found in FENCE.finditer(text)]


def programs() -> list[Program]:
    """Every program of the documentation."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    return [program for page in pages for program in _of_page(blocks(page))]


def _of_page(found: list[Block]) -> Iterator[Program]:
    if not found or found[0].page in EXCERPTS:
        return
    page = found[0].page
    stem = Path(page).stem.lower().replace("-", "_")
    prelude = PRELUDES.get(Path(page).name, {})
    if prelude.get("alternatives"):
        for number, block in enumerate(found[1:], 1):
            yield _program(f"{stem}_{number}", [found[0], block], prelude)
        return
    for name, group in _by_file(found).items():
        of_file = PRELUDES.get(f"{Path(page).name} {name}", {})
        yield _program(f"{stem}_{name}" if name else stem, group, of_file if name else prelude)


def _by_file(found: Iterable[Block]) -> dict[str, list[Block]]:
    """The blocks by the file that they begin with; a block that names none continues the one before."""
    groups: dict[str, list[Block]] = {}
    name = ""
    for block in found:
        named = FILE_NAME.match(block.code)
        name = named[1] if named else name
        groups.setdefault(name, []).append(block)
    return groups


def _program(name: str, found: Iterable[Block], prelude: dict[str, str]) -> Program:
    before = prelude.get("before", "").strip("\n").splitlines()
    if "begins_as" in prelude:
        before = (ROOT / prelude["begins_as"]).read_text("utf-8").splitlines()
    lines: list[tuple[str, str]] = [(line, f"page_preludes.toml: {name}") for line in before]
    for number, block in enumerate(found, 1):
        written = block.code.splitlines()
        places = [f"{block.page}:{block.line + offset}" for offset in range(len(written))]
        lines = _without(lines, _functions(block.code))
        first = _first_to_await(block.code)
        if first is not None:
            lines += zip(written[:first], places[:first], strict=True)
            lines.append((f"async def block_{number}({prelude.get('given', '')}) -> None:", places[first]))
            written, places = [f"    {line}" if line else "" for line in written[first:]], places[first:]
        lines += zip(written, places, strict=True)
    text = "".join(f"{line}\n" for line, _ in lines)
    for module, program in IMPORTED.items():
        text = text.replace(f"from {module} import", f"from {FOLDER.replace('/', '.')}.{program} import")
    return Program(name, text, tuple(place for _, place in lines))


def _functions(code: str) -> set[str]:
    """The functions and classes that a block declares."""
    return {node.name for node in ast.parse(code).body if isinstance(node, DECLARATIONS)}


def _without(lines: list[tuple[str, str]], replaced: set[str]) -> list[tuple[str, str]]:
    """The lines without the functions that a later block replaces, and without the values made of them."""
    left_out: set[int] = set()
    for node in ast.parse("\n".join(line for line, _ in lines)).body:
        names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
        if isinstance(node, DECLARATIONS) and node.name in replaced:
            left_out |= set(range(min([node.lineno, *(each.lineno for each in node.decorator_list)]), _end(node) + 1))
        elif isinstance(node, ast.Assign) and names & replaced:
            left_out |= set(range(node.lineno, _end(node) + 1))
    return [line for number, line in enumerate(lines, 1) if number not in left_out]


def _end(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def _first_to_await(code: str) -> int | None:
    """The line, from 0, from which on statements stand in an ``async def``."""
    for statement in ast.parse(code).body:
        if not isinstance(statement, DECLARATIONS) and any(
            isinstance(node, ast.Await | ast.AsyncWith | ast.AsyncFor) for node in ast.walk(statement)
        ):
            return statement.lineno - 1
    return None


def write(found: Iterable[Program]) -> None:
    """Write the programs into their folder, where they are not there yet."""
    folder = ROOT / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    wanted = {f"{program.name}.py": program.text for program in found}
    for path in folder.glob("*.py"):
        if path.name not in wanted:
            path.unlink()
    for name, text in wanted.items():
        path = folder / name
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")
