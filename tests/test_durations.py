"""Durations: every form people write, and bounds that nothing passes."""

from __future__ import annotations

import contextlib
import time
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepward.durations import LONGEST, seconds, text
from stepward.errors import InvalidDuration


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("90s", 90.0),
        ("15m", 900.0),
        ("1h30m", 5400.0),
        ("1h 30m", 5400.0),
        (" 200ms ", 0.2),
        ("1.5s", 1.5),
        ("90", 90.0),
        (" 0.5 ", 0.5),
        ("2d", 172_800.0),
        (3, 3.0),
        (0.25, 0.25),
        (timedelta(minutes=2), 120.0),
        (LONGEST, LONGEST),
        ("3650d", LONGEST),
    ],
)
def test_every_form_is_read(written: timedelta | float | str, expected: float) -> None:
    assert seconds(written) == pytest.approx(expected)


@pytest.mark.parametrize(
    "written",
    [
        "", " ", "9 0", "s", "1h30", "1x", "-1s", "1.5.5s", "1e3s", "\uff11\uff15s", "infs",
        "nans", True, None, [], {}, b"1s",
        0, "0s", -1, -0.001, timedelta(0), timedelta(seconds=-1),
        float("nan"), float("inf"), float("-inf"), LONGEST + 0.1, "3650d1s", timedelta.max, 10**400,
        -(10**400), pytest.param(10**5000, id="no-repr"), "9" * 400 + "s", "1s" * 100,
    ],
)  # fmt: skip
def test_all_else_is_refused_in_one_short_line_that_names_the_setting(written: object) -> None:
    with pytest.raises(InvalidDuration) as refused:
        seconds(written, "Retry.initial")  # type: ignore[arg-type]
    message = str(refused.value)
    assert message.startswith("Retry.initial: expected ")
    assert "\n" not in message
    assert len(message) < 200


def test_zero_is_allowed_only_where_it_makes_sense() -> None:
    assert seconds("0s", zero=True) == 0
    assert seconds(0, zero=True) == 0
    with pytest.raises(InvalidDuration):
        seconds(-1, zero=True)


def test_a_huge_text_costs_no_time() -> None:
    started = time.process_time()
    with pytest.raises(InvalidDuration):
        seconds("9" * 1_000_000)
    assert time.process_time() - started < 1


@pytest.mark.parametrize(
    ("amount", "expected"),
    [
        (0, "0ms"),
        (0.2, "200ms"),
        (0.9999, "1s"),
        (4.5, "4.5s"),
        (59.99, "1m"),
        (90, "1m 30s"),
        (3599.99, "1h"),
        (5400, "1h 30m"),
        (90_061, "1d 1h"),
        (LONGEST, "3650d"),
    ],
)
def test_durations_are_shown_as_people_read_them(amount: float, expected: str) -> None:
    assert text(amount) == expected


@given(st.integers(min_value=1, max_value=int(LONGEST)))
def test_a_shown_duration_reads_back_to_within_its_smaller_unit(amount: int) -> None:
    assert amount - 3600 < seconds(text(amount)) <= amount


@given(st.text(max_size=30))
def test_no_text_does_more_than_be_refused(written: str) -> None:
    with contextlib.suppress(InvalidDuration):
        assert 0 < seconds(written) <= LONGEST
