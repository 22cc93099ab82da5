"""The switches of the panel: each stands for one fault. Pure: standing faults in, faults to put out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from examples.shop.services.faults import Fault, FaultKind, StandingFault


@dataclass(frozen=True, slots=True)
class Switch:
    """A fault that a visitor can switch on; `only` names the one service that has it."""

    label: str
    tells: str
    fault: Fault
    only: str | None = None

    @property
    def id(self) -> str:
        """The switch's name in a path."""
        return self.fault.kind.value

    def is_on(self, standing: Iterable[StandingFault]) -> bool:
        """Whether its fault is in force; one that struck as often as it was to is not."""
        return any(_unspent(each) == self.fault for each in standing)


# The first fault that matches strikes, so the order says which wins: those that strike once, then the gravest.
SWITCHES = (
    Switch("Crashes once", "does its work, then dies without an answer", Fault(kind=FaultKind.CRASH, times=1)),
    Switch("Loses one answer", "does its work, then hangs up", Fault(kind=FaultKind.ANSWER_LOST, times=1)),
    Switch("Down", "answers every call with 503", Fault(kind=FaultKind.DOWN)),
    Switch("Hangs", "takes every call and never answers", Fault(kind=FaultKind.HANG)),
    Switch("Declines", "refuses every card with 402", Fault(kind=FaultKind.DECLINED, action="charge"), "payment"),
    Switch("Flaky", "answers half of its calls with 503", Fault(kind=FaultKind.FLAKY, rate=0.5)),
    Switch("Slow", "thinks for 3 seconds about every call", Fault(kind=FaultKind.SLOW, seconds=3)),
)


def switches_of(service: str) -> list[Switch]:
    """The switches that make sense for this service."""
    return [switch for switch in SWITCHES if switch.only in (None, service)]


def switched(standing: Sequence[StandingFault], switch: Switch, *, on: bool) -> list[Fault]:
    """The whole list to put: as it stands, with this one fault on or off.

    Faults from elsewhere, such as those for one order, are kept and stay in front.
    """
    faults = [fault for each in standing if (fault := _unspent(each)) is not None]
    own = [each.fault for each in SWITCHES]
    wanted = [each.fault for each in SWITCHES if (on if each is switch else each.fault in faults)]
    return [*(fault for fault in faults if fault not in own), *wanted]


def _unspent(standing: StandingFault) -> Fault | None:
    if standing.times == 0:
        return None
    return Fault(
        kind=standing.kind,
        order_id=standing.order_id,
        action=standing.action,
        times=standing.times,
        seconds=standing.seconds,
        rate=standing.rate,
    )
