"""The numbers by which alerts and dead letters are named."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from stepward.http.exception_handlers import HttpRefusal

NUMBERS = 2**53
"""One more than the highest number of an alert or a dead letter: up to there numbers of JSON are exact. Those of the
second of several stores begin at 10**12."""
Number = Annotated[int, Meta(ge=1, lt=NUMBERS)]


def row_number(number: int, field: str = "number") -> int:
    """The number of an alert or a dead letter. Raises HttpRefusal (422) for one that no row can have."""
    if not 1 <= number < NUMBERS:
        raise HttpRefusal(422, f"{field}: expected 1 to {NUMBERS - 1:,}, found {str(number)[:30]}", field=field)
    return number
