"""docs/payloads.md: every type of its table travels, pydantic models among them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, NamedTuple, TypedDict
from uuid import UUID

import msgspec
import pytest
from pydantic import BaseModel, ConfigDict, Field

from stepward import Client
from stepward.errors import DeclarationError, InvalidArguments, InvalidPayload, Refused
from stepward.payload import Signature, decode, encode
from stepward.testing import environment

PAGE = Path(__file__).parents[2] / "docs" / "payloads.md"


@dataclass
class Point:
    x: int


class Bag(TypedDict):
    x: int


class Pair(NamedTuple):
    x: int
    y: str


class Row(msgspec.Struct):
    x: int


class Colour(Enum):
    RED = "red"


class Size(IntEnum):
    BIG = 9


class Kind(StrEnum):
    PLAIN = "plain"


class Item(BaseModel):
    sku: str = Field(alias="SKU")
    price: Decimal = Field(gt=0)


class Order(BaseModel):
    model_config = ConfigDict(strict=True)

    id: UUID
    at: datetime
    items: list[Item]


ITEM = Item(SKU="lamp", price=Decimal("1.20"))
ORDER = Order(id=UUID(int=7), at=datetime(2026, 1, 31, 12, tzinfo=UTC), items=[ITEM])


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (bool, True),
        (tuple[int, str], (1, "a")),
        (set[int], {1, 2}),
        (frozenset[str], frozenset({"a"})),
        (Point, Point(1)),
        (Bag, {"x": 1}),
        (Pair, Pair(1, "a")),
        (Row, Row(1)),
        (Colour, Colour.RED),
        (Size, Size.BIG),
        (Kind, Kind.PLAIN),
        (Literal["a", "b"], "b"),
        (datetime, datetime(2026, 1, 31, 12, tzinfo=UTC)),
        (date, date(2026, 1, 31)),
        (time, time(12, 30)),
        (timedelta, timedelta(hours=3)),
        (Decimal, Decimal("1.20")),
        (UUID, UUID(int=7)),
        (bytes, b"\x00\xff"),
        (Order, ORDER),
        (list[Order], [ORDER]),
        (Order | None, None),
        (Order | None, ORDER),
        (dict[str, Item], {"a": ITEM}),
    ],
)
def test_a_type_of_the_table_travels(kind: Any, value: Any) -> None:
    def echo(value: Any) -> Any: ...

    echo.__annotations__ = {"value": kind, "return": kind}
    signature = Signature(echo, "echo")
    (found,), _ = signature.unpack(signature.pack((value,), {}))
    assert (type(found), found) == (type(value), value)
    assert signature.result(encode(value, "value")) == value
    assert signature.schema()


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b'[{"SKU":"lamp","price":"0"}]', "input should be greater than 0 at `Item.price`"),
        (b'[{"price":"1"}]', "field required at `Item.SKU`"),
        (b"[5]", "input should be an object at `Item`"),
    ],
)
def test_a_model_refuses_what_does_not_fit_in_one_line(data: bytes, says: str) -> None:
    def add(item: Item) -> None: ...

    with pytest.raises(InvalidArguments) as refused:
        Signature(add, "add").unpack(data)
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_model_within_any_value_is_written_and_a_number_that_is_none_is_refused() -> None:
    class Reading(BaseModel):
        value: float

    assert encode({"at": [Reading(value=1.5)]}, "value") == b'{"at":[{"value":1.5}]}'
    with pytest.raises(InvalidPayload, match="found nan"):
        encode(Reading(value=float("nan")), "value")
    assert decode(b'{"value":1.5}', "signal", Reading) == Reading(value=1.5)


def test_two_models_in_a_union_are_refused_where_they_are_declared() -> None:
    def add(item: Item | Order) -> None: ...

    with pytest.raises(DeclarationError, match="expected types that JSON can tell apart"):
        Signature(add, "add")


def test_the_schemas_of_models_find_their_definitions() -> None:
    def add(order: Order, items: list[Item]) -> None: ...

    schema = Signature(add, "add").schema()
    references = re.findall(r'"\$ref":"#/\$defs/([^"]+)"', encode(schema, "schema").decode())
    assert "pydantic.Item" in references
    assert set(references) <= set(schema["$defs"])


def example() -> Callable[[str], Any]:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    module = ModuleType("payload_example")
    exec(compile(code, "payload_example.py", "exec", dont_inherit=True), module.__dict__)
    return module.__dict__.__getitem__


async def test_the_example_of_the_page_works() -> None:
    get = example()
    async with environment(get("app")) as env:
        task = await env.client.submit(get("buy"), get("Order")(id="A-1", amount=Decimal("4.20")))
        assert await task.result() == get("Receipt")(number="charge-A-1")
        with pytest.raises(Refused, match="amount"):
            await env.client.submit(get("buy"), {"id": "A-1", "amount": "0"})


async def test_a_client_without_the_code_checks_the_registered_schema_of_a_model(tmp_path: Path) -> None:
    get = example()
    store = f"sqlite:///{tmp_path}/shop.db"
    app = get("app")
    app.settings = app.settings.replaced({"store": store})
    async with app.running(), Client(store, app="shop") as client:
        with pytest.raises(Refused, match="amount"):
            await client.submit("buy", {"id": "A-1", "amount": []})
        task = await client.submit("buy", {"id": "A-1", "amount": "4.20"})
        async with asyncio.timeout(30):
            assert await task.result() == {"number": "charge-A-1"}
