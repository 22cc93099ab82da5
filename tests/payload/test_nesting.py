"""The nesting check agrees with a scan of single characters, and costs a few passes of ``bytes`` methods."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from types import FrameType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepward.payload import encode
from stepward.payload.nesting import is_deeper

LEVELS = 100
SIZE = 1024 * 1024
TRIES = 12
PASSES = 15
"""How many times the processor time of one ``bytes.translate`` a check may take: alone on a machine it takes up to 10
times, which is 5 ms a mebibyte. A busy machine makes both slower, so that their ratio stays."""

parts = st.sampled_from(
    [b"[", b"]", b"{", b"}", b'"', b'""', b"\\", b"x", b'["', b'"]', b'\\"[', b"[]", b"][", b'"[",']
)
runs = st.builds(bytes.__mul__, parts, st.one_of(st.integers(1, 4), st.integers(1, 400)))
texts = st.lists(runs, max_size=30).map(b"".join)


def scanned_depth(data: bytes) -> int:
    depth = deepest = position = 0
    in_text = False
    while position < len(data):
        if data[position : position + 2] in (b"\\\\", b'\\"'):
            position += 2
            continue
        if data[position] == ord('"'):
            in_text = not in_text
        elif not in_text:
            depth += (data[position] in b"[{") - (data[position] in b"]}")
            deepest = max(deepest, depth)
        position += 1
    return deepest


@given(texts, st.integers(1, 5))
def test_the_depth_of_any_bytes_is_that_of_a_scan_of_single_characters(text: bytes, times: int) -> None:
    data = text * times
    deepest = scanned_depth(data)
    assert [is_deeper(data, max(0, deepest + offset)) for offset in (-1, 0, 1)] == [deepest > 0, False, False]


@pytest.mark.parametrize("width", [1, 7, 8, 27, 28, 29, 55, 56, 57, 111, 112, 113, 400])
@pytest.mark.parametrize("text", [b"", b'"]["', b'"[[["' * 50])
def test_the_depth_is_exact_at_every_width_of_brackets(width: int, text: bytes) -> None:
    data = b",".join([b"[" * width + text + b"]" * width] * 40)
    assert [is_deeper(data, width + offset) for offset in (-1, 0)] == [True, False]


def filled(part: bytes, around: int = 1) -> bytes:
    start, end = b"[" * around, b"]" * around
    return start + part * ((SIZE - 2 * around) // len(part)) + end


DEEP, BACK = b"[" * 98, b"]" * 98
SHAPES = {
    "brackets just under the limit": filled(DEEP + BACK + b","),
    "brackets over the limit": filled(b"["),
    "half a mebibyte each way": b"[" * (SIZE // 2) + b"]" * (SIZE // 2),
    "brackets up and down near the limit": filled(b"[[[]],[],[[]]],", 97),
    "pairs of brackets": filled(b"[]"),
    "braces": filled(b'{"":'),
    "short texts that hold brackets": filled(b'"[",'),
    "lists of texts that hold brackets": filled(b'["["],'),
    "texts and lists near the limit": filled(b'[["["],[]],', 97),
    "texts of many brackets": filled(b'["' + b"[" * 70 + b'"],'),
    "few texts among many brackets": filled(DEEP + b'""' + BACK + b","),
    "one quote among many brackets": filled(DEEP + b'"[' + BACK),
    "quotes and brackets in turn": filled(b'"['),
    "quotes": filled(b'"'),
    "escaped quotes beside brackets": b'["' + b'\\"[' * (SIZE // 3) + b'"]',
    "texts of an escaped quote": filled(b'"\\"[",'),
    "texts of a backslash": filled(b'"\\\\[",'),
    "an unterminated text": b"[" * 101 + b'"' + b"[" * SIZE,
    "an unterminated text of escaped quotes": b"[" * 101 + b'"' + b'\\"' * (SIZE // 2),
    "backslashes": b"[" * 101 + b'"' + b"\\" * SIZE,
    "no brackets": b'"' + b"x" * SIZE + b'"',
}
EVERY_BYTE = bytes(range(256)) * (SIZE // 256)


def one_pass() -> bytes:
    return EVERY_BYTE.translate(None, b"[]{}")


@pytest.mark.parametrize("shape", SHAPES)
def test_a_mebibyte_costs_a_few_passes_whatever_its_shape(shape: str) -> None:
    data = SHAPES[shape]
    checks, passes = [], []
    for _ in range(TRIES):
        checks.append(seconds_of(lambda: is_deeper(data, LEVELS)))
        passes.append(seconds_of(one_pass))
    assert min(checks) < PASSES * min(passes)


def seconds_of(look: Callable[[], object]) -> float:
    start = time.thread_time()
    look()
    return time.thread_time() - start


@pytest.mark.parametrize(
    "element",
    [[1, 2], [1, None], {"id": 1, "note": None, "share": 0.5}, [[{"deep": [None]}]]],
    ids=["pairs", "nulls", "objects", "deep"],
)
def test_encoding_calls_as_many_functions_for_large_values_as_for_small_ones(element: object) -> None:
    assert _calls([element] * 300) == _calls([element] * 3_000) == _calls([element] * 10_000)


def _calls(value: object) -> int:
    """How many functions of the package an encoding calls, generators that go on included."""
    calls = 0

    def called(frame: FrameType, event: str, _: object) -> None:
        nonlocal calls
        calls += event == "call" and "stepward" in frame.f_code.co_filename

    # The collector would end here what other tests have left, by functions of the package.
    gc.disable()
    sys.setprofile(called)
    try:
        encode(value, "value")
    finally:
        sys.setprofile(None)
        gc.enable()
    return calls
