"""Bounds on files, functions, names and imports, found by reading the source."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "stepward"
FOLDERS = ("src", "simulation", "torture", "benchmarks", "showcase", "servers", "mutants", "deploy", "examples")
MODULES = 14
"""Most modules of a folder, besides ``__init__`` and ``__main__``: its listing is read at a glance."""
LARGER = {"examples/shop/storefront": 20}
"""Folders beyond that, which may only get smaller: a page and its parts each. Suites of tests are not among them."""
FILE_LINES = 300
FUNCTION_LINES = 50
ENGINES = re.compile(r"\b(sqlite|postgres|nats|rabbitmq)\b")
"""Files that differ in this word alone are twins, and name the same thing alike."""
SHRINK = "split what has grown"

Sources = Mapping[str, str]
Imports = Mapping[str, set[str]]


def long_files(sources: Sources) -> dict[str, int]:
    lines = {name: text.count("\n") for name, text in sources.items()}
    return {name: count for name, count in lines.items() if count > FILE_LINES}


def full_folders(files: Iterable[str]) -> dict[str, int]:
    """Folders with more modules than may be, by the paths of all modules."""
    counts = Counter(str(Path(file).parent) for file in files if Path(file).stem not in {"__init__", "__main__"})
    return {folder: count for folder, count in sorted(counts.items()) if count > LARGER.get(folder, MODULES)}


def long_functions(sources: Sources) -> dict[str, int]:
    found = {}
    for name, text in sources.items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or 0) - node.lineno + 1
                if lines > FUNCTION_LINES:
                    found[f"{name} {node.name}"] = lines
    return found


def _defined(text: str) -> Iterable[str]:
    """Classes and type aliases of a module, and none of its type variables."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            alias = node.targets[0].id
            is_variable = isinstance(node.value, ast.Call)
            if alias[0].isupper() and not alias.isupper() and not is_variable:
                yield alias


def named_twice(sources: Sources) -> set[str]:
    places = defaultdict(set)
    for name, text in sources.items():
        for defined in _defined(text):
            places[defined].add(ENGINES.sub("ENGINE", name))
    return {defined for defined, files in places.items() if len(files) > 1}


def circles(sources: Sources) -> list[set[str]]:
    """Modules that import each other, wherever in a file, and for type checkers alone as well."""
    imports = {_module(name): _imports(text, {_module(each) for each in sources}) for name, text in sources.items()}
    reached = {module: _reached(module, imports) for module in imports}
    found = {frozenset(other for other in reached[each] if each in reached[other]) for each in imports}
    return [set(circle) for circle in found if circle]


def _module(name: str) -> str:
    return f"stepward/{name}".removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _imports(text: str, modules: set[str]) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                found.add(whole if whole in modules else node.module)
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found & modules


def _reached(start: str, imports: Imports) -> set[str]:
    found: set[str] = set()
    todo = list(imports[start])
    while todo:
        module = todo.pop()
        if module not in found:
            found.add(module)
            todo += imports[module]
    return found


def _ours() -> Sources:
    return {path.relative_to(SOURCE).as_posix(): path.read_text("utf-8") for path in sorted(SOURCE.rglob("*.py"))}


def test_files_are_within_their_bound() -> None:
    assert long_files(_ours()) == {}, SHRINK


def test_folders_are_within_their_bound() -> None:
    paths = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")] + list((ROOT / "tests").glob("*.py"))
    files = [path.relative_to(ROOT).as_posix() for path in paths]
    assert full_folders(files) == {}, "group by subject what has grown"


def test_functions_are_within_their_bound() -> None:
    assert long_functions(_ours()) == {}, SHRINK


def test_no_name_is_given_to_two_things() -> None:
    assert named_twice(_ours()) == set()


def test_no_modules_import_each_other() -> None:
    assert circles(_ours()) == []


def test_sources_beyond_the_bounds_are_found() -> None:
    long = {"a.py": "def f():\n" + "    x = 1\n" * FILE_LINES}
    assert (long_files(long), long_functions(long)) == ({"a.py": 301}, {"a.py f": 301})
    many = [f"x/{number}.py" for number in range(MODULES)]
    assert full_folders([*many, "x/__init__.py"]) == {}
    assert full_folders([*many, "x/more.py"]) == {"x": MODULES + 1}
    both = "class A: ...\nPair = tuple[int, int]\n"
    assert named_twice({"x/a.py": both, "y/a.py": both}) == {"A", "Pair"}
    assert named_twice({"sqlite/a.py": both, "postgres/a.py": both}) == set()


def test_a_circle_is_found_even_through_a_function() -> None:
    sources = {
        "x/__init__.py": "",
        "x/a.py": "from stepward.x import b\n",
        "x/b.py": "from stepward.x.c import C\n",
        "x/c.py": "def f():\n    import stepward.x.a\n",
        "x/d.py": "from stepward.x import a\n",
    }
    assert circles(sources) == [{"stepward.x.a", "stepward.x.b", "stepward.x.c"}]
