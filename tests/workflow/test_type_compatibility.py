"""Which types fit which, as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal, NewType, TypedDict
from uuid import UUID

import msgspec
import pytest

from stepward.workflow.pipeline.type_compatibility import fits


class Colour(Enum):
    RED = "red"


class Order(msgspec.Struct):
    id: str
    lines: list[int]
    note: str = ""


class Express(Order):
    hours: int = 1


class Customer(msgspec.Struct):
    name: str


@dataclass
class Numbered:
    id: str
    lines: Sequence[float]


class Named(TypedDict):
    name: str


class Tree(msgspec.Struct):
    branches: list[Tree]


class Bush(msgspec.Struct):
    branches: list[Bush]


class Row(msgspec.Struct, array_like=True):
    name: str


class Anything:
    pass


OrderId = NewType("OrderId", str)


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        (str, str),
        (int, Any),
        (Any, int),
        (int, float),
        (int, Decimal),
        (str, str | None),
        (None, str | None),
        (int | None, float | str | None),
        (OrderId, str),
        (Annotated[int, msgspec.Meta(gt=0)], int),
        (UUID, str),
        (str, date),
        (Colour, str),
        (str, Colour),
        (Literal["a"], str),
        (Literal["a"], Literal["a", "b"]),
        (list[int], Sequence[float]),
        (list, list[int]),
        (tuple[int, int], set[int]),
        (tuple[int, str], tuple[float, str]),
        (list[int], tuple[int, int]),
        (dict[str, int], Mapping[str, float]),
        (dict[str, Any], Order),
        (Order, dict),
        (Customer, dict[str, str]),
        (Express, Order),
        (Order, Numbered),
        (Named, Customer),
        (Tree, Bush),
        (Row, list[str]),
        (Anything, int),
        (int, Anything),
    ],
)
def test_these_fit(given: Any, taken: Any) -> None:
    assert fits(given, taken)


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        (str, int),
        (float, int),
        (bool, int),
        (int, bool),
        (str | None, str),
        (int | str, int),
        (Literal[1], str),
        (Literal["a", "c"], Literal["a", "b"]),
        (int, Colour),
        (list[str], list[int]),
        (list[str], str),
        (tuple[int, str], list[int]),
        (tuple[int, int], tuple[int, int, int]),
        (tuple[int, str], tuple[int, int]),
        (dict[str, str], dict[str, int]),
        (Order, dict[str, str]),
        (Order, Customer),
        (Customer, Order),
        (Order, list[Any]),
        (Row, dict[str, str]),
        (Named, Numbered),
        (Tree, Order),
    ],
)
def test_these_do_not(given: Any, taken: Any) -> None:
    assert not fits(given, taken)
