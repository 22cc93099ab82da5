"""The compatibility of one callable's result with another's parameter, judged by the JSON between them.

Only what cannot fit is refused: where the types alone do not decide, the value will.
"""

from __future__ import annotations

from typing import Any

from msgspec import inspect

SeenTypes = set[tuple[int, int]]
"""Pairs that are being compared already: types may hold themselves."""

TEXT = frozenset({"string"})
ARRAY = frozenset({"array"})
OBJECT = frozenset({"object"})
KINDS: dict[type[inspect.Type], frozenset[str]] = {
    inspect.NoneType: frozenset({"null"}),
    inspect.BoolType: frozenset({"boolean"}),
    inspect.IntType: frozenset({"integer"}),
    inspect.FloatType: frozenset({"number"}),
    inspect.StrType: TEXT,
    inspect.BytesType: TEXT,
    inspect.ByteArrayType: TEXT,
    inspect.MemoryViewType: TEXT,
    inspect.DateTimeType: TEXT,
    inspect.DateType: TEXT,
    inspect.TimeType: TEXT,
    inspect.TimeDeltaType: TEXT,
    inspect.UUIDType: TEXT,
    inspect.DecimalType: TEXT,
    inspect.ListType: ARRAY,
    inspect.SetType: ARRAY,
    inspect.FrozenSetType: ARRAY,
    inspect.VarTupleType: ARRAY,
    inspect.TupleType: ARRAY,
    inspect.NamedTupleType: ARRAY,
    inspect.DictType: OBJECT,
    inspect.TypedDictType: OBJECT,
    inspect.DataclassType: OBJECT,
}
"""The JSON that a value of each type becomes; a type that is not named here may become anything."""
ALSO_TAKEN: dict[type[inspect.Type], frozenset[str]] = {
    inspect.FloatType: frozenset({"integer"}),
    inspect.DecimalType: frozenset({"integer", "number"}),
}
LITERALS = {str: "string", int: "integer", type(None): "null", bool: "boolean"}

Fields = inspect.StructType | inspect.DataclassType | inspect.TypedDictType


def fits(given: Any, taken: Any) -> bool:
    """Whether a value of type ``given`` may be a value of type ``taken`` once it has travelled as JSON."""
    if given is taken:
        return True
    try:
        one, other = inspect.multi_type_info([given, taken])
        return _fits(one, other, set())
    except (TypeError, NameError, NotImplementedError):  # an annotation that says nothing about JSON
        return True


def _fits(given: inspect.Type, taken: inspect.Type, seen: SeenTypes) -> bool:
    if isinstance(given, inspect.UnionType):
        return all(_fits(each, taken, seen) for each in given.types)
    if isinstance(taken, inspect.UnionType):
        return any(_fits(given, each, seen) for each in taken.types)
    becomes, takes = _kinds(given), _kinds(taken)
    if becomes is None or takes is None:
        return True
    if not becomes <= takes | ALSO_TAKEN.get(type(taken), frozenset()):
        return False
    return _arrays_fit(given, taken, seen) and _objects_fit(given, taken, seen) and _literals_fit(given, taken)


def _kinds(kind: inspect.Type) -> frozenset[str] | None:
    if isinstance(kind, inspect.StructType):
        return ARRAY if kind.array_like else OBJECT
    if isinstance(kind, inspect.EnumType):
        return frozenset(LITERALS.get(type(member.value), "string") for member in kind.cls)
    if isinstance(kind, inspect.LiteralType):
        return frozenset(LITERALS[type(value)] for value in kind.values)
    return KINDS.get(type(kind))


def _literals_fit(given: inspect.Type, taken: inspect.Type) -> bool:
    if isinstance(given, inspect.LiteralType) and isinstance(taken, inspect.LiteralType):
        return set(given.values) <= set(taken.values)
    return True


def _arrays_fit(given: inspect.Type, taken: inspect.Type, seen: SeenTypes) -> bool:
    if isinstance(given, inspect.CollectionType) and isinstance(taken, inspect.CollectionType):
        return _fits(given.item_type, taken.item_type, seen)
    if isinstance(given, inspect.TupleType) and isinstance(taken, inspect.CollectionType):
        return all(_fits(item, taken.item_type, seen) for item in given.item_types)
    if isinstance(given, inspect.TupleType) and isinstance(taken, inspect.TupleType):
        pairs = zip(given.item_types, taken.item_types, strict=False)
        return len(given.item_types) == len(taken.item_types) and all(_fits(*pair, seen) for pair in pairs)
    return True


def _objects_fit(given: inspect.Type, taken: inspect.Type, seen: SeenTypes) -> bool:
    if isinstance(taken, inspect.DictType):
        return all(_fits(value, taken.value_type, seen) for value in _values(given))
    if isinstance(given, Fields) and isinstance(taken, Fields):
        return _fields_fit(given, taken, seen)
    return True


def _values(given: inspect.Type) -> list[inspect.Type]:
    if isinstance(given, inspect.DictType):
        return [given.value_type]
    return [field.type for field in given.fields] if isinstance(given, Fields) else []


def _fields_fit(given: Fields, taken: Fields, seen: SeenTypes) -> bool:
    if (id(given), id(taken)) in seen:
        return True
    seen.add((id(given), id(taken)))
    found = {field.encode_name: field.type for field in given.fields}
    return all(
        _fits(found[field.encode_name], field.type, seen) if field.encode_name in found else not field.required
        for field in taken.fields
    )
