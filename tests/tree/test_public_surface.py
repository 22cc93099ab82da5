"""The public surface, name for name: a change of it is a decision, and shows in ``public_surface.txt``."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterable, Iterator
from enum import Enum
from pathlib import Path
from typing import Any, is_typeddict

import pytest

import stepward

SHOWS_WHAT_IS_WITHIN = {"Agent", "App", "HttpAgent", "Transaction"}
"""Their methods return classes that are not public; no further class may."""
RECORDED = Path(__file__).with_name("public_surface.txt")
TO_RECORD = "if this is meant, follow docs/versioning.md and write the lines into tests/tree/public_surface.txt"


def surface(module: Any) -> Iterator[str]:
    """A line for each public name and, indented below it, for each public attribute of a class."""
    for name in sorted(module.__all__):
        value = getattr(module, name)
        yield name + _parameters(value)
        if inspect.isclass(value):
            yield from (f"    {line}" for line in sorted(_attributes(value)))


def _attributes(class_: type) -> set[str]:
    """What the class and its bases among ours define, or assign in ``__init__``."""
    found: dict[str, str] = {}
    for base in reversed(class_.__mro__):
        if base.__module__.partition(".")[0] in {"stepward", __name__.partition(".")[0]}:
            shown = {name: value for name, value in vars(base).items() if not name.startswith("_")}
            found |= {name: name + _parameters(value) for name, value in shown.items()}
            found |= {name: name for name in (*inspect.get_annotations(base), *_assigned(base))}
    return {line for name, line in found.items() if not name.startswith("_")}


def _assigned(class_: type) -> Iterator[str]:
    if "__init__" not in vars(class_):
        return
    try:
        source = inspect.getsource(vars(class_)["__init__"])
    except (OSError, TypeError):
        return  # a dataclass writes its own
    for node in ast.walk(ast.parse(textwrap.dedent(source))):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and ast.unparse(node.value) == "self":
            yield node.attr


def _parameters(value: Any) -> str:
    """Names, order and kind of the parameters, and which of them have defaults."""
    if isinstance(value, property):
        return ""
    value = getattr(value, "__func__", value)
    if not (_has_own_parameters(value) if inspect.isclass(value) else inspect.isfunction(value)):
        return ""
    parameters = inspect.signature(value).parameters.values()
    return f"({', '.join(_written(parameters))})"


def _has_own_parameters(class_: type) -> bool:
    """Whether it is made from parameters of ours, unlike a Protocol, a TypedDict, an Enum or a mere error."""
    if issubclass(class_, Exception):
        return any("__init__" in vars(base) for base in class_.__mro__ if base.__module__.startswith("stepward"))
    return not (getattr(class_, "_is_protocol", False) or is_typeddict(class_) or issubclass(class_, Enum))


def _written(parameters: Iterable[inspect.Parameter]) -> Iterator[str]:
    is_bare = True
    for each in parameters:
        if each.name == "self":
            continue
        if each.kind is each.VAR_POSITIONAL:
            is_bare = False
        elif each.kind is each.KEYWORD_ONLY and is_bare:
            is_bare = False
            yield "*"
        stars = "*" if each.kind is each.VAR_POSITIONAL else "**" if each.kind is each.VAR_KEYWORD else ""
        yield stars + each.name + ("=" if each.default is not each.empty else "")


def _differences(found: Iterable[str], recorded: Iterable[str]) -> list[str]:
    now, before = list(_whole(found)), list(_whole(recorded))
    return [f"- {line}" for line in before if line not in now] + [f"+ {line}" for line in now if line not in before]


def _whole(lines: Iterable[str]) -> Iterator[str]:
    """Each attribute with the name of its class."""
    owner = ""
    for line in lines:
        if not line.startswith(" "):
            owner = line.partition("(")[0]
        yield f"{owner}.{line.strip()}" if line.startswith(" ") else line


def _given_back(class_: type) -> Iterator[type]:
    """Our classes that its methods and properties return."""
    for base in class_.__mro__:
        for name, value in vars(base).items():
            function = inspect.unwrap(getattr(value, "fget", None) or getattr(value, "__func__", value))
            if base.__module__.startswith("stepward") and not name.startswith("_") and inspect.isfunction(function):
                words = re.findall(r"\w+", str(function.__annotations__.get("return")))
                found = (function.__globals__.get(word) for word in words)
                yield from (each for each in found if inspect.isclass(each) and each.__module__.startswith("stepward"))


@pytest.mark.parametrize("name", [name for name in stepward.__all__ if name not in SHOWS_WHAT_IS_WITHIN])
def test_types_returned_by_public_methods_are_public(name: str) -> None:
    value = getattr(stepward, name)
    given = {each.__name__ for each in _given_back(value)} if inspect.isclass(value) else set()
    assert given <= set(stepward.__all__)


def test_the_public_surface_is_what_is_recorded() -> None:
    pytest.importorskip("httpx", reason="without it HttpAgent is not public")
    found = list(surface(stepward))
    assert _differences(found, RECORDED.read_text("utf-8").splitlines()) == [], TO_RECORD


class Planted:
    """A module and a class in one."""

    __all__ = ("Planted",)

    def __init__(self, first: int, *, second: int = 0) -> None:
        self.shown = first
        self._hidden = second

    def act(self, *args: int, by: str | None = None, **more: int) -> None: ...

    def _inner(self) -> None: ...


def test_public_names_attributes_and_parameters_are_seen() -> None:
    Planted.Planted = Planted  # type: ignore[attr-defined]
    lines = list(surface(Planted))
    del Planted.Planted  # type: ignore[attr-defined]
    assert lines[0] == "Planted(first, *, second=)"
    assert {"    act(*args, by=, **more)", "    shown"} <= set(lines)
    assert not [line for line in lines if "_inner" in line or "_hidden" in line]


def test_a_removed_attribute_is_reported_with_its_class() -> None:
    recorded = ["Client(address)", "    submit(workflow)", "    task(id)"]
    assert _differences(["Client(address)", "    task(id, run=)"], recorded) == [
        "- Client.submit(workflow)",
        "- Client.task(id)",
        "+ Client.task(id, run=)",
    ]
