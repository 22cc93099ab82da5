"""The depth of JSON, found without parsing: in linear time for any bytes, at the speed of ``bytes`` methods.

No step looks at single characters in Python, because a mebibyte of brackets would hold up the event loop. Brackets and
quotes become hexadecimal digits, of which ``unhexlify`` packs two into a byte; tables of 256 entries hold the effect of
a byte, and large integers add and compare thousands of bytes at once.
"""

from __future__ import annotations

from array import array
from binascii import unhexlify
from collections.abc import Callable, Mapping
from itertools import accumulate, chain, filterfalse
from math import isfinite
from operator import add
from typing import Any

from stepward.errors import InvalidPayload

CLOSE, OPEN, QUOTE = b"0", b"1", b"2"
AS_DIGITS = bytes.maketrans(b'[]{}"', OPEN + CLOSE + OPEN + CLOSE + QUOTE)
NO_MARKS = bytes(byte for byte in range(256) if byte not in b'[]{}"')
NO_OPENING = bytes(byte for byte in range(256) if byte not in b"[{")
SPARSE = 256
"""Fewest marks per quote for which strings are cut out one by one; below that their parity is computed."""
COLUMNS = 7
"""Bytes of eight marks that are summed as one: 56 levels up or down fit the seven bits of a lane."""
GROUP = 8 * COLUMNS
SCALARS = frozenset({str, int, float, bool, bytes, type(None)})
"""Types without parts."""
MIDDLE, HALF = GROUP.to_bytes(), (8).to_bytes()
IN_TEXT = b"\x80"


def is_deeper(data: bytes, levels: int) -> bool:
    """Whether the JSON nests deeper than ``depth``; for bytes that are no JSON either answer is possible, as fast."""
    if len(data.translate(None, NO_OPENING)) <= levels:
        return False
    if b"\\" in data:
        # Escapes occur in strings only. Pairs are removed first: a backslash left before a quote escapes it.
        data = data.replace(b"\\\\", b"--").replace(b'\\"', b"--")
    return _highest(_packed(data.translate(AS_DIGITS, NO_MARKS))) > levels


def _packed(marks: bytes) -> bytes:
    """One byte for eight marks: two digits, each with the effect of four marks outside strings."""
    pieces = marks.split(QUOTE, len(marks) // SPARSE)
    are_dense = QUOTE in pieces[-1]
    if not are_dense:
        marks = b"".join(pieces[::2])
    fours = unhexlify(unhexlify(marks + CLOSE * (-len(marks) % GROUP)).translate(PAIRS))
    return unhexlify((_with_parity(fours) if are_dense else fours).translate(WALKS))


def _with_parity(fours: bytes) -> bytes:
    """The same bytes, with the highest bit set where four marks begin within a string."""
    count = len(fours)
    quotes = int(fours.translate(FLIPS), 2)
    distance = 1
    while distance < count:
        quotes ^= quotes >> distance
        distance *= 2
    begins = f"{quotes >> 1:0{count}b}".encode().translate(AS_FLAGS)
    return (_lanes(fours) | _lanes(begins)).to_bytes(count)


def _highest(packed: bytes) -> int:
    """The greatest depth."""
    count = len(packed) // COLUMNS
    flags, step = _lanes(IN_TEXT * count), _lanes(HALF * count)
    depth = top = _lanes(MIDDLE * count)
    for column in (packed[start::COLUMNS] for start in range(COLUMNS)):
        peak = depth + _lanes(column.translate(PEAKS))
        # Seven bits are set in each lane whose top is at least the peak.
        is_top = ((top | flags) - peak) & flags
        top = peak ^ ((peak ^ top) & (is_top - (is_top >> 7)))
        depth += _lanes(column.translate(RISES)) - step
    before = accumulate(array("b", depth.to_bytes(count).translate(SIGNED)), initial=0)
    return max(map(add, before, top.to_bytes(count)), default=GROUP) - GROUP


def _lanes(values: bytes) -> int:
    return int.from_bytes(values)


def _table(entry: Callable[[int], int]) -> bytes:
    return bytes(entry(byte) & 0xFF for byte in range(256))


def _walk(marks: str, in_text: bool) -> tuple[int, int]:
    """By how much marks go deeper in all, and how deep in between."""
    depth = highest = 0
    for mark in marks:
        in_text ^= mark == QUOTE.decode()
        if not in_text:
            depth += (mark == OPEN.decode()) - (mark == CLOSE.decode())
            highest = max(highest, depth)
    return depth, highest


def _marks(byte: int) -> str:
    """The four marks of a byte of two pairs."""
    return PAIR_KINDS[byte >> 4 & 7] + PAIR_KINDS[byte & 7]


def _eight(byte: int) -> tuple[int, int]:
    """The effect of two walks in sequence; digits that name no walk do not occur."""
    (rise, peak), (then, higher) = (WALK_KINDS[min(digit, len(WALK_KINDS) - 1)] for digit in divmod(byte, 16))
    return rise + then, max(peak, rise + higher)


DIGITS = b"0123456789abcdef"
# Two quotes have the effect of "][": none, inside a string and outside. So eight digits are enough for two marks.
PAIR_KINDS = ["00", "01", "02", "10", "11", "12", "20", "21"]
PAIRS = _table(lambda byte: DIGITS[PAIR_KINDS.index(f"{byte:02x}") if f"{byte:02x}" in PAIR_KINDS else 1])
FLIPS = _table(lambda byte: DIGITS[_marks(byte).count("2") % 2])
AS_FLAGS = bytes.maketrans(b"01", b"\0" + IN_TEXT)
WALK_KINDS = sorted({_walk(_marks(byte), byte >= 128) for byte in range(256)})
"""Four marks go down and up in 15 ways."""
WALKS = _table(lambda byte: DIGITS[WALK_KINDS.index(_walk(_marks(byte), byte >= 128))])
RISES = _table(lambda byte: 8 + _eight(byte)[0])
PEAKS = _table(lambda byte: _eight(byte)[1])
SIGNED = _table(lambda byte: byte - GROUP)


def refuse_nested_sets(value: object, what: str) -> None:
    """Raise InvalidPayload for a value with a set within a set, naming ``what``."""
    outside: list[Any] = [value]
    within: list[Any] = []
    while outside or within:
        inner, of_sets = _parts(within)
        if of_sets is not None:
            # Sets compare by inclusion, which gives no total order: the bytes would follow the hash seed.
            raise InvalidPayload(f"{what}: expected sets of plain values, found a set in a set; use lists inside")
        outside, of_sets = _parts(outside)
        within = inner + (of_sets or [])


def not_finite(value: Any) -> float | None:
    """NaN or an infinity in a value of plain lists, tuples and dicts; None if all its floats are finite."""
    items = [value]
    while items:
        kinds = set(map(type, items))
        if float in kinds:
            floats = [each for each in items if type(each) is float]
            if not all(map(isfinite, floats)):
                return next(filterfalse(isfinite, floats))
        parts: list[Any] = []
        if dict in kinds:
            parts += chain.from_iterable([each.values() for each in items if type(each) is dict])
        if list in kinds or tuple in kinds:
            parts += chain.from_iterable([each for each in items if type(each) is list or type(each) is tuple])
        items = parts
    return None


def _parts(items: list[Any]) -> tuple[list[Any], list[Any] | None]:
    """What the items hold one level down; the parts of sets apart, None if no item is a set.

    Levels are looked at by type, as values of many elements have few types.
    """
    parts: list[Any] = []
    of_sets: list[Any] | None = None
    kinds = set(map(type, items))
    for kind in kinds - SCALARS:
        alike: list[Any] = items if len(kinds) == 1 else [each for each in items if type(each) is kind]
        if issubclass(kind, Mapping):
            parts += chain.from_iterable(map(kind.values, alike))
        elif issubclass(kind, list | tuple):
            parts += chain.from_iterable(alike)
        elif issubclass(kind, set | frozenset):
            of_sets = [*(of_sets or ()), *chain.from_iterable(alike)]
        else:
            fields = getattr(kind, "__struct_fields__", getattr(kind, "__dataclass_fields__", ()))
            parts += [getattr(each, name) for each in alike for name in fields if hasattr(each, name)]
    return parts, of_sets
