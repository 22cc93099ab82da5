"""The ladder past a failure: ``"alert"``, ``"undo"``, ``"raise"`` are last rungs, ``LongWait`` leads to another."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from stepward.durations import Duration, seconds, text
from stepward.errors import DeclarationError
from stepward.policies.number_checks import check_count

LastRung = Literal["alert", "undo", "raise"]
LAST_RUNGS = ("alert", "undo", "raise")
LONGEST_LADDER = 20


@dataclass(frozen=True, slots=True)
class LongWait:
    """A rung past the threshold: wait ``delay`` and repeat, up to ``times`` times; then the next rung (R9 b)."""

    delay: Duration = field(compare=False)
    times: int = 3
    then: LastRung | LongWait = "alert"
    delay_seconds: float = field(init=False)

    def __post_init__(self) -> None:
        check_count("LongWait.times", self.times, 1, 10_000)
        check_rung("LongWait.then", self.then)
        _check_ladder(self.then)
        object.__setattr__(self, "delay_seconds", seconds(self.delay, "LongWait.delay"))


def ladder_text(rung: LastRung | LongWait) -> str:
    """The ladder as one line: ``wait 1h up to 3 times, then alert``."""
    if isinstance(rung, LongWait):
        return f"wait {text(rung.delay_seconds)} up to {rung.times} times, then {ladder_text(rung.then)}"
    return rung


def check_rung(what: str, rung: object) -> None:
    """Raises DeclarationError unless it is a rung of the ladder."""
    if not (isinstance(rung, LongWait) or rung in LAST_RUNGS):
        raise DeclarationError(f"{what}: expected 'alert', 'undo', 'raise' or LongWait(…), found {rung!r}")


def rung_to_json(rung: LastRung | LongWait) -> Any:
    """The ladder as the store keeps it, in seconds."""
    if isinstance(rung, LongWait):
        return {"delay": rung.delay_seconds, "times": rung.times, "then": rung_to_json(rung.then)}
    return rung


def rung_from_json(value: Any) -> LastRung | LongWait:
    """The ladder that ``rung_to_json`` made."""
    if isinstance(value, dict):
        return LongWait(value["delay"], times=value["times"], then=rung_from_json(value["then"]))
    rung: LastRung = value
    return rung


def _check_ladder(rung: LastRung | LongWait) -> None:
    rungs = 2
    while isinstance(rung, LongWait):
        rung = rung.then
        rungs += 1
    if rungs > LONGEST_LADDER:
        raise DeclarationError(f"LongWait.then: expected at most {LONGEST_LADDER} rungs, found {rungs}; join some")
