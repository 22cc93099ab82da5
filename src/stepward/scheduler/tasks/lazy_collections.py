"""Collections that are made with what first stands in them: most tasks never need them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def added(kept: Sequence[T] | None, one: T) -> list[T]:
    """The list with one more."""
    if isinstance(kept, list):
        kept.append(one)
        return kept
    return [*(kept or ()), one]


def keyed(kept: OrderedDict[str, T] | None, key: str, one: T) -> OrderedDict[str, T]:
    """The mapping with one more."""
    if kept is None:
        return OrderedDict({key: one})
    kept[key] = one
    return kept


def dropped(kept: OrderedDict[str, T] | None, key: str) -> None:
    """Takes out what stands under that key, if it does."""
    if kept:
        kept.pop(key, None)
