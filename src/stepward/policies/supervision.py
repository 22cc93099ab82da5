"""Supervision: the decisions of the Supervisor on a step that failed or ran out of time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from stepward.errors import DeclarationError, InvalidPayload
from stepward.payload import decode, encode
from stepward.policies.backoff import Backoff
from stepward.policies.long_wait import LastRung, LongWait, check_rung, rung_from_json, rung_to_json
from stepward.policies.number_checks import check_count

AtDeadline = Literal["end", "repeat"]
AT_DEADLINE = ("end", "repeat")


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
        check_count("Supervision.threshold", self.threshold, 0, 10_000)
        if not isinstance(self.backoff, Backoff):
            raise DeclarationError(f"Supervision.backoff: expected a Backoff, found {self.backoff!r}")
        check_rung("Supervision.then", self.then)

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
        value = {"threshold": self.threshold, "backoff": backoff, "then": rung_to_json(self.then)}
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
                then=rung_from_json(value["then"]),
                at_deadline=value.get("at_deadline", "end"),
            )
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise InvalidPayload(
                f"supervision policy: expected what to_json writes, found {error!r}; register it again"
            ) from None
