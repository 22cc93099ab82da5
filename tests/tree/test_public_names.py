"""What documentation and examples import comes from ``stepward``, ``stepward.testing`` or ``stepward.integrations``."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import stepward
import stepward.testing
from stepward.integrations import celery, django, fastapi, flask, starlette

ROOT = Path(__file__).parents[2]
INTEGRATIONS = (celery, django, fastapi, flask, starlette)
NOT_IMPORTED = ("openai_agents", "pydantic_ai")
"""Integrations whose libraries take seconds to import."""
DEEP = re.compile(r"^\s*from stepward\.[\w.]+ import (?:\(([^)]*)\)|(.+))$", re.MULTILINE)


def _names_of(package: str) -> list[str]:
    """``__all__``, read from the source."""
    source = (ROOT / "src/stepward/integrations" / package / "__init__.py").read_text()
    assigned = next(node for node in ast.parse(source).body if isinstance(node, ast.Assign))
    names: list[str] = ast.literal_eval(assigned.value)
    return names


PUBLIC = {
    *stepward.__all__,
    *stepward.testing.__all__,
    *(name for each in INTEGRATIONS for name in each.__all__),
    *(name for package in NOT_IMPORTED for name in _names_of(package)),
}
"""The package itself, the kit for tests of applications, and what is for frameworks."""


def _imported_from_inside(text: str) -> set[str]:
    found = (several or line for several, line in DEEP.findall(text))
    return {name.split(" as ")[0].strip() for names in found for name in names.split(",") if name.strip()}


def _missing(texts: dict[str, str]) -> dict[str, set[str]]:
    missing = {place: _imported_from_inside(text) - PUBLIC for place, text in texts.items()}
    return {place: names for place, names in missing.items() if names}


def test_names_that_documentation_and_examples_import_are_public() -> None:
    """A name from a module within is public at the top level too."""
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "examples").rglob("*.py")]
    assert _missing({str(page.relative_to(ROOT)): page.read_text() for page in pages}) == {}


def test_a_name_that_is_not_public_is_found_and_named() -> None:
    """The scan can fail: a planted page imports what is not public."""
    page = "from stepward.errors import (\n    Refused,\n    InstanceFenced,\n)\n"
    assert _missing({"page.md": page}) == {"page.md": {"InstanceFenced"}}


def test_every_public_name_exists_and_has_a_docstring() -> None:
    """``__all__`` has no doubles, and each of its classes and functions is documented."""
    names = list(stepward.__all__)
    assert len(set(names)) == len(names)
    bare = [name for name in names if callable(found := getattr(stepward, name)) and not found.__doc__]
    assert bare == []


def test_every_public_method_has_a_docstring_of_its_own_or_from_its_protocol() -> None:
    """A method that no page mentions is found by its class."""
    classes = [value for name in stepward.__all__ if inspect.isclass(value := getattr(stepward, name))]
    bare = {
        f"{each.__name__}.{name}"
        for each in classes
        for name, value in inspect.getmembers(each, inspect.isroutine)
        if not name.startswith("_") and not inspect.getdoc(value)
    }
    assert bare == set()
