"""Payloads: what goes in comes out, the same bytes everywhere, and poison is refused in one line."""

from __future__ import annotations

import dataclasses
import enum
import math
import os
import string
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepward.errors import DeclarationError, InvalidArguments, InvalidPayload, PayloadTooLarge
from stepward.payload import DEPTH, PAYLOAD_BYTES, Signature, check_size, decode, encode

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)


class Colour(enum.Enum):
    BROKEN = math.nan


@dataclasses.dataclass
class Point:
    x: float
    tags: set[Any] = dataclasses.field(default_factory=set)


class Order(msgspec.Struct):
    point: Point
    amounts: dict[str, float]


def nested(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels - 1):
        value = [value]
    return value


def test_a_result_declared_as_object_takes_any_json() -> None:
    assert decode(b'["a",{"b":1},null]', "result", list[object]) == ["a", {"b": 1}, None]


@given(values)
def test_values_round_trip(value: Any) -> None:
    data = encode(value, "value")
    assert decode(data, "value") == value
    assert encode(decode(data, "value"), "value") == data


@given(st.dictionaries(texts, scalars, min_size=2))
def test_equal_values_have_equal_bytes_whatever_their_order(value: dict[str, Any]) -> None:
    backwards = dict(reversed(value.items()))
    assert encode(value, "value") == encode(backwards, "value")


@given(st.sets(texts))
def test_sets_are_sorted(value: set[str]) -> None:
    assert decode(encode(value, "value"), "value") == sorted(value)


@pytest.mark.parametrize(
    "value",
    [
        "a\0b", "\x1b[31m", "\u2028", "\U0001f600", "", 2**53 + 1, -(2**63) - 1, 2**64, 10**4000, -(10**300),
        5e-324, 1.7976931348623157e308, -0.0, [], {}, "null", ["null"], {"null": None}, '"[[[[', "\\",
    ],
    ids=lambda value: None if isinstance(value, int) else repr(value),
)  # fmt: skip
def test_odd_values_come_back_unchanged(value: Any) -> None:
    assert decode(encode(value, "value"), "value") == value


@pytest.mark.parametrize(
    "value",
    [
        math.nan, math.inf, -math.inf, [math.nan], (None, math.inf), {"a": {"b": math.nan}}, Point(math.nan),
        [Order(Point(1.0), {"a": math.inf})], {math.nan}, frozenset({math.inf}), Colour.BROKEN,
    ],
)  # fmt: skip
def test_values_that_json_would_turn_into_null_are_refused(value: Any) -> None:
    with pytest.raises(InvalidPayload, match=r"^input: expected numbers that JSON can hold, found (nan|-?inf);"):
        encode(value, "input")


@pytest.mark.parametrize("value", [None, [None, 1.5], {"a": None}, "null", Point(0.0), [{"null": 1}]])
def test_a_real_null_is_no_such_number(value: Any) -> None:
    assert encode(value, "input")


@pytest.mark.parametrize(
    "value",
    [
        "\ud800", {"\udfff": 1}, object(), print, (i for i in range(3)), {1: "a"}, {math.nan: 1}, {1, "a"},
        pytest.param(10**5000, id="no-repr"), pytest.param(nested(100_000), id="deep"),
    ],
)  # fmt: skip
def test_values_that_json_cannot_hold_are_refused_by_name(value: Any) -> None:
    with pytest.raises(InvalidPayload, match=r"^input: expected ") as refused:
        encode(value, "input")
    assert "\n" not in str(refused.value)


def test_a_value_that_contains_itself_is_refused() -> None:
    value: list[Any] = []
    value.append(value)
    with pytest.raises(InvalidPayload, match="nesting too deep"):
        encode(value, "input")


@pytest.mark.parametrize(
    "data",
    [
        b"", b"{", b"NaN", b"Infinity", b"1e400", b"[1,]", b'"\xff"', b'"\\ud800"', b'"\\udc00 x"',
        b"01", b"\x00",
        b"1" * 5000, b"[" * 100_000, b"[" * 100_000 + b"]" * 100_000, b'{"a":' * 100_000, b"nul", b"[1] x",
    ],
    ids=range(17),
)  # fmt: skip
def test_poisoned_bytes_are_refused_by_name(data: bytes) -> None:
    with pytest.raises(InvalidPayload, match=r"^reply: expected JSON, found "):
        decode(data, "reply")


def test_a_duplicate_key_counts_once_with_its_last_value() -> None:
    assert decode(b'{"a":1,"a":2}', "reply") == {"a": 2}


def test_the_limit_is_the_last_size_that_passes() -> None:
    assert len(encode("x" * (PAYLOAD_BYTES - 3), "input")) == PAYLOAD_BYTES - 1
    assert len(encode("x" * (PAYLOAD_BYTES - 2), "input")) == PAYLOAD_BYTES
    with pytest.raises(PayloadTooLarge, match=r"input: expected at most 1,048,576 bytes of JSON, found 1,048,577"):
        encode("x" * (PAYLOAD_BYTES - 1), "input")
    with pytest.raises(PayloadTooLarge):
        check_size(b"x" * 11, "reply", limit=10)


def test_the_depth_limit_is_the_last_depth_that_passes() -> None:
    encode(nested(DEPTH), "input")
    with pytest.raises(InvalidPayload, match="at most 100 nested levels"):
        encode(nested(DEPTH + 1), "input")


@pytest.mark.parametrize(
    "value", [["["] * 500, ['\\"[{'] * 500, [[]] * 500, [{"a": [1]}] * 500, {"{": "[" * 500}, "[" * 5000]
)
def test_wide_values_and_brackets_in_texts_are_not_deep(value: Any) -> None:
    assert encode(value, "input")


def test_brackets_in_texts_hide_no_depth() -> None:
    value: Any = '"]}'
    for level in range(101):
        value = [value, "]" * 3] if level % 2 else {"}": value}
    with pytest.raises(InvalidPayload, match="nested levels"):
        encode(value, "input")


PRINT_SETS = """
from stepward.payload import encode
words = {f"word {i}" for i in range(50)}
print(encode([words, frozenset(words), {(w, 1) for w in words}, {"k": words}], "sets"))
try:
    encode({frozenset({w, w + "!"}) for w in words}, "sets")
except ValueError as error:
    print(error)
"""


def test_sets_have_the_same_bytes_under_every_hash_seed() -> None:
    def printed(seed: str) -> bytes:
        environment = os.environ | {"PYTHONHASHSEED": seed}
        return subprocess.run(
            [sys.executable, "-c", PRINT_SETS], env=environment, capture_output=True, check=True
        ).stdout

    assert len({printed(seed) for seed in ("0", "1", "2", "3")}) == 1


@pytest.mark.parametrize(
    "value",
    [
        {frozenset({"a"}), frozenset({"b"})},
        [{(1, frozenset({"a"})), (1, frozenset({"b"}))}],
        {"a": [{frozenset({"b"})}]},
        Point(1.0, {frozenset({"a"})}),
        Order(Point(1.0, {frozenset({"a"})}), {}),
    ],
)
def test_sets_in_sets_have_no_order_and_are_refused(value: Any) -> None:
    with pytest.raises(InvalidPayload, match="expected sets of plain values, found a set in a set"):
        encode(value, "input")


def test_lists_in_lists_and_sets_in_lists_are_fine() -> None:
    assert encode([[{"b", "a"}], [[{(1, 2)}]]], "input") == b'[[["a","b"]],[[[[1,2]]]]]'


def buy(sku: str, count: int = 1, *, gift: bool = False, note: str | None = None) -> float:
    return len(sku) * float(count)


def test_arguments_go_in_and_come_out_as_declared() -> None:
    signature = Signature(buy, "shop.buy")
    assert signature.pack(("a",), {}) == b'["a",1,false,null]'
    assert signature.pack(("a", 2), {"gift": True}) == b'["a",2,true,null]'
    assert signature.pack((), {"count": 3, "sku": "b"}) == b'["b",3,false,null]'
    assert signature.unpack(b'["a",2,true,"hi"]') == (("a", 2), {"gift": True, "note": "hi"})
    assert signature.unpack(b'["a"]') == (("a", 1), {"gift": False, "note": None})
    assert signature.result(b"2.5") == 2.5


@given(st.text(string.ascii_letters), st.integers(-(2**63), 2**63 - 1), st.booleans())
def test_packed_arguments_read_back(sku: str, count: int, gift: bool) -> None:
    signature = Signature(buy, "shop.buy")
    packed = signature.pack((sku, count), {"gift": gift})
    assert signature.unpack(packed) == ((sku, count), {"gift": gift, "note": None})


@pytest.mark.parametrize(
    ("args", "kwargs"), [((), {}), (("a", 1, True), {}), (("a",), {"colour": 1}), (("a",), {"sku": "b"})]
)
def test_arguments_that_do_not_fit_are_refused_when_packed(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    with pytest.raises(InvalidArguments, match=r"^arguments of shop.buy: expected \(sku: str, "):
        Signature(buy, "shop.buy").pack(args, kwargs)


@pytest.mark.parametrize(
    "data",
    [b"", b"{}", b"[]", b"[1]", b'["a","b"]', b'["a",1,true,null,5]', b"[NaN]", b"[" * 100_000, b'["\xff"]'],
)
def test_arguments_that_do_not_fit_are_refused_when_unpacked(data: bytes) -> None:
    with pytest.raises(InvalidArguments, match=r"^arguments of shop.buy: expected \(sku: str, "):
        Signature(buy, "shop.buy").unpack(data)


@pytest.mark.parametrize("data", [b'"x"', b"", b"[1", b"NaN"])
def test_a_result_that_does_not_fit_is_refused(data: bytes) -> None:
    with pytest.raises(InvalidPayload, match=r"^result of shop.buy: expected float, found "):
        Signature(buy, "shop.buy").result(data)


def test_oversized_arguments_are_refused() -> None:
    with pytest.raises(PayloadTooLarge, match=r"^arguments of shop.buy: expected at most 20 bytes"):
        Signature(buy, "shop.buy").pack(("a" * 20,), {}, limit=20)


def starred(*items: int) -> None: ...
def unresolved(item: Missing) -> None: ...  # type: ignore[name-defined]  # noqa: F821
def unresolved_attribute(item: Path.missing) -> None: ...  # type: ignore[name-defined]
def ambiguous(item: list[int] | set[int]) -> None: ...
def ambiguous_result() -> list[int] | set[int]:
    return []


@pytest.mark.parametrize("fn", [starred, unresolved, unresolved_attribute, ambiguous, ambiguous_result, dict.update])
def test_types_that_json_cannot_hold_are_refused_when_declared(fn: Callable[..., Any]) -> None:
    with pytest.raises(DeclarationError, match=r"^shop.odd: expected "):
        Signature(fn, "shop.odd")


def test_the_schema_describes_the_argument_array() -> None:
    schema = Signature(buy, "shop.buy").schema()
    assert "prefixItems" in str(schema)


def opaque(item: Path) -> None: ...


def test_the_schema_of_no_arguments_allows_an_empty_array_alone() -> None:
    async def nothing() -> None: ...

    schema = Signature(nothing, "shop.nothing").schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert jsonschema.Draft202012Validator(schema).is_valid([])
    assert not jsonschema.Draft202012Validator(schema).is_valid([1])


def test_a_type_without_a_schema_is_one_error_line() -> None:
    with pytest.raises(DeclarationError, match=r"^shop.odd: expected parameter types with a JSON Schema") as refused:
        Signature(opaque, "shop.odd").schema()
    assert "\n" not in str(refused.value)
