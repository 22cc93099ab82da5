"""Policies as data: how an Agent retries, when its breaker opens, what the Supervisor does past a failure.

``then`` is a ladder: ``"alert"``, ``"undo"`` and ``"raise"`` are last rungs, ``LongWait`` leads to another.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from stepward.durations import Duration, seconds, text
from stepward.errors import DeclarationError, InvalidPayload
from stepward.model.limits.rate import RateLimit
from stepward.payload import decode, encode

LastRung = Literal["alert", "undo", "raise"]
LAST_RUNGS = ("alert", "undo", "raise")
AtDeadline = Literal["end", "repeat"]
AT_DEADLINE = ("end", "repeat")
LONGEST_LADDER = 20
MOST_CONCURRENCY = 100_000
"""Most tasks at once that a limit may name."""


@dataclass(frozen=True, slots=True)
class Limit:
    """How many tasks of a workflow may be at work at once, and how many may start within a time, over all processes.

    A task is at work from its first step to its end. ``rate`` is ``(100, "1s")`` or ``"100/s"``: 100 start at once, and
    from then on one each 10 ms. With ``per="key"`` each fairness key has the limit for itself.
    """

    concurrency: int | None = None
    per: Literal["key"] | None = None
    rate: tuple[int, Duration] | str | None = field(default=None, compare=False)
    rate_limit: RateLimit | None = field(init=False)

    def __post_init__(self) -> None:
        if self.concurrency is None and self.rate is None:
            raise DeclarationError("Limit: expected concurrency=, rate= or both, found neither; give one")
        if self.concurrency is not None and not (
            isinstance(self.concurrency, int) and 1 <= self.concurrency <= MOST_CONCURRENCY
        ):
            raise DeclarationError(
                f"Limit: expected concurrency from 1 to {MOST_CONCURRENCY:,}, found {self.concurrency!r:.60}"
            )
        rate = None if self.rate is None else RateLimit.parse(self.rate, "Limit.rate")
        object.__setattr__(self, "rate_limit", rate)
        if self.per not in (None, "key"):
            raise DeclarationError(f"Limit: expected per=None or per='key', found {self.per!r:.60}")


@dataclass(frozen=True, slots=True)
class Backoff:
    """Delays that grow by ``factor`` from ``initial`` up to ``maximum``; equal if they wait alike."""

    initial: Duration = field(default="1s", compare=False)
    factor: float = 2.0
    maximum: Duration = field(default="1m", compare=False)
    initial_seconds: float = field(init=False)
    maximum_seconds: float = field(init=False)

    def __post_init__(self) -> None:
        _check_factor("Backoff", self.factor)
        object.__setattr__(self, "initial_seconds", seconds(self.initial, "Backoff.initial", zero=True))
        object.__setattr__(self, "maximum_seconds", seconds(self.maximum, "Backoff.maximum", zero=True))

    def delay(self, failures: int) -> float:
        """Seconds to wait after the ``failures``-th failure, counted from 1."""
        return grown(self.initial_seconds, self.factor, self.maximum_seconds, failures)


@dataclass(frozen=True, slots=True)
class Retry:
    """How often an Agent calls its service within one attempt of a step, and how long it waits between.

    ``jitter`` draws each delay evenly from zero to the grown delay (full jitter).
    """

    attempts: int = 4
    initial: Duration = field(default="200ms", compare=False)
    factor: float = 2.0
    maximum: Duration = field(default="10s", compare=False)
    jitter: bool = True
    initial_seconds: float = field(init=False)
    maximum_seconds: float = field(init=False)

    def __post_init__(self) -> None:
        _check_count("Retry.attempts", self.attempts, 1, 1000)
        _check_factor("Retry", self.factor)
        object.__setattr__(self, "initial_seconds", seconds(self.initial, "Retry.initial", zero=True))
        object.__setattr__(self, "maximum_seconds", seconds(self.maximum, "Retry.maximum", zero=True))

    def delay(self, failures: int, chance: float) -> float:
        """Seconds to wait after the ``failures``-th failed call; ``chance`` is from 0 to 1."""
        delay = grown(self.initial_seconds, self.factor, self.maximum_seconds, failures)
        return delay * chance if self.jitter else delay


@dataclass(frozen=True, slots=True)
class CircuitBreaker:
    """Opens after ``failures`` failed calls in a row: nothing is sent for ``reset_after``, then one call probes."""

    failures: int = 5
    reset_after: Duration = field(default="15s", compare=False)
    reset_seconds: float = field(init=False)

    def __post_init__(self) -> None:
        _check_count("CircuitBreaker.failures", self.failures, 1, 1_000_000)
        object.__setattr__(self, "reset_seconds", seconds(self.reset_after, "CircuitBreaker.reset_after"))


@dataclass(frozen=True, slots=True)
class LongWait:
    """A rung past the threshold: wait ``delay`` and repeat, up to ``times`` times; then the next rung (R9 b)."""

    delay: Duration = field(compare=False)
    times: int = 3
    then: LastRung | LongWait = "alert"
    delay_seconds: float = field(init=False)

    def __post_init__(self) -> None:
        _check_count("LongWait.times", self.times, 1, 10_000)
        _check_rung("LongWait.then", self.then)
        _check_ladder(self.then)
        object.__setattr__(self, "delay_seconds", seconds(self.delay, "LongWait.delay"))


@dataclass(frozen=True, slots=True)
class Supervision:
    """What the Supervisor does with a step that failed or ran out of time (R9).

    The first ``threshold`` expiries are repeated after ``backoff``; past it ``then`` decides. ``then`` also
    decides at once when a ``StepFailed`` leaves the workflow ("raise" counts as "alert" there), and when the
    task's own deadline has passed. With ``at_deadline="repeat"`` a task past its deadline has one failure more and is
    given back, pending and with a new deadline, as long as its failures are at most ``threshold`` (R28).
    """

    threshold: int = 3
    backoff: Backoff = field(default_factory=Backoff)
    then: LastRung | LongWait = "alert"
    at_deadline: AtDeadline = "end"

    def __post_init__(self) -> None:
        if self.at_deadline not in AT_DEADLINE:
            raise DeclarationError(f"Supervision.at_deadline: expected 'end' or 'repeat', found {self.at_deadline!r}")
        _check_count("Supervision.threshold", self.threshold, 0, 10_000)
        if not isinstance(self.backoff, Backoff):
            raise DeclarationError(f"Supervision.backoff: expected a Backoff, found {self.backoff!r}")
        _check_rung("Supervision.then", self.then)

    @property
    def last(self) -> LastRung:
        """The ladder's last rung."""
        rung = self.then
        while isinstance(rung, LongWait):
            rung = rung.then
        return rung

    def to_json(self) -> bytes:
        """The policy as the store keeps it, in seconds."""
        backoff = [self.backoff.initial_seconds, self.backoff.factor, self.backoff.maximum_seconds]
        value = {"threshold": self.threshold, "backoff": backoff, "then": _rung_to_json(self.then)}
        if self.at_deadline != "end":
            value["at_deadline"] = self.at_deadline
        return encode(value, "supervision policy")

    @classmethod
    def from_json(cls, data: bytes) -> Supervision:
        """The policy that ``to_json`` wrote; raises InvalidPayload for anything else."""
        value = decode(data, "supervision policy", dict[str, Any])
        try:
            initial, factor, maximum = value["backoff"]
            return cls(
                threshold=value["threshold"],
                backoff=Backoff(initial, factor=factor, maximum=maximum),
                then=_rung_from_json(value["then"]),
                at_deadline=value.get("at_deadline", "end"),
            )
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise InvalidPayload(
                f"supervision policy: expected what to_json writes, found {error!r}; register it again"
            ) from None


def grown(initial: float, factor: float, maximum: float, failures: int) -> float:
    """``initial`` times ``factor`` for each failure past the first, at most ``maximum``; never overflows."""
    delay = initial
    for _ in range(failures - 1):
        if delay >= maximum or factor == 1.0 or delay == 0:
            break
        delay *= factor
    return min(delay, maximum)


def ladder_text(rung: LastRung | LongWait) -> str:
    """The ladder as one line: ``wait 1h up to 3 times, then alert``."""
    if isinstance(rung, LongWait):
        return f"wait {text(rung.delay_seconds)} up to {rung.times} times, then {ladder_text(rung.then)}"
    return rung


def _check_count(what: str, count: object, lowest: int, highest: int) -> None:
    if not isinstance(count, int) or isinstance(count, bool) or not lowest <= count <= highest:
        raise DeclarationError(f"{what}: expected a whole number from {lowest} to {highest}, found {count!r}")


def _check_factor(what: str, factor: object) -> None:
    if not isinstance(factor, int | float) or isinstance(factor, bool) or not 1.0 <= factor <= 1000.0:
        raise DeclarationError(f"{what}.factor: expected a number from 1 to 1000, found {factor!r}")


def _check_ladder(rung: LastRung | LongWait) -> None:
    rungs = 2
    while isinstance(rung, LongWait):
        rung = rung.then
        rungs += 1
    if rungs > LONGEST_LADDER:
        raise DeclarationError(f"LongWait.then: expected at most {LONGEST_LADDER} rungs, found {rungs}; join some")


def _check_rung(what: str, rung: object) -> None:
    if not (isinstance(rung, LongWait) or rung in LAST_RUNGS):
        raise DeclarationError(f"{what}: expected 'alert', 'undo', 'raise' or LongWait(…), found {rung!r}")


def _rung_to_json(rung: LastRung | LongWait) -> Any:
    if isinstance(rung, LongWait):
        return {"delay": rung.delay_seconds, "times": rung.times, "then": _rung_to_json(rung.then)}
    return rung


def _rung_from_json(value: Any) -> LastRung | LongWait:
    if isinstance(value, dict):
        return LongWait(value["delay"], times=value["times"], then=_rung_from_json(value["then"]))
    rung: LastRung = value
    return rung
