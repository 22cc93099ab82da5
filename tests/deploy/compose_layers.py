"""One Compose file laid over another as Compose does it: its documented rules for merging, as far as ours go."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import yaml

Document = dict[str, Any]
REPLACED = ("command", "entrypoint")
VARIABLE = re.compile(r"\$\{(\w+):\?[^}]+\}")
"""One that has to be given."""


class Reset:
    """A value under `!reset`: the key is removed."""


class Override(list[Any]):
    """A list under `!override`, which replaces the one before."""


class Loader(yaml.SafeLoader):
    """Knows Compose's `!reset` and `!override` besides."""


def _override(loader: Loader, node: yaml.SequenceNode) -> Override:
    return Override(loader.construct_sequence(node))


Loader.add_constructor("!reset", lambda _loader, _node: Reset())
Loader.add_constructor("!override", _override)


def read(text: str, variables: Mapping[str, str] | None = None) -> Document:
    """The document with its anchors resolved and its variables filled in; raises KeyError for one that is not given."""
    given = variables or {}
    parsed: Document = yaml.load(VARIABLE.sub(lambda found: given[found[1]], text), Loader)
    return {name: value for name, value in parsed.items() if not name.startswith("x-")}


def laid_over(base: Document, layer: Document) -> Document:
    """Mappings are merged, lists appended, command lines and plain values replaced, what is reset is gone."""
    merged = dict(base)
    for name, value in layer.items():
        if isinstance(value, Reset):
            merged.pop(name, None)
        else:
            merged[name] = _merged(name, base.get(name), value)
    return merged


def _merged(name: str, old: Any, new: Any) -> Any:
    if isinstance(new, dict):
        return laid_over(old or {}, new)
    if isinstance(new, Override):
        return list(new)
    if isinstance(new, list) and isinstance(old, list) and name not in REPLACED:
        return [*old, *(each for each in new if each not in old)]
    return new
