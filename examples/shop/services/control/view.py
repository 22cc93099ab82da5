"""What a card of the panel shows, worked out from what was seen of a service. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from examples.shop.services.control.remote import Sight
from examples.shop.services.control.switches import Switch, switches_of
from examples.shop.services.faults import StandingFault
from examples.shop.services.service import ServiceDetails
from servers.ledger import Effect

MOST_EFFECTS = 6
MOST_FAULTS = 8

PURPOSES = {
    "stock": "puts goods aside for an order",
    "payment": "charges cards, and gives money back",
    "parcel": "books parcels, and calls them off",
    "mail": "writes to customers",
}


class ServiceState(StrEnum):
    """How a service is doing; the words are the visitor's."""

    WORKING = "working"
    FAULTY = "misbehaving"
    GONE = "not answering"


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultLine:
    """A standing fault: what it is, which calls it is for, how often it struck and how often it still may."""

    kind: str
    scope: str
    hits: int
    left: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectLine:
    """An effect in the ledger; `calls` is how often it was asked for, and it was done once."""

    time: str
    action: str
    order_id: str
    what: str
    calls: int
    fate: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One service on the panel."""

    name: str
    purpose: str
    state: ServiceState
    trouble: str | None
    switches: list[tuple[Switch, bool]]
    faults: list[FaultLine]
    more_faults: int
    in_force: int
    effects: list[EffectLine]
    done: int
    taken_back: int
    calls: int


def card(sight: Sight) -> Card:
    """The card of a service as it was seen."""
    undone = {effect.undoes for effect in sight.effects if effect.undoes is not None}
    in_force = sum(fault.times != 0 for fault in sight.faults)
    latest = sight.effects[: -MOST_EFFECTS - 1 : -1]
    return Card(
        name=sight.name,
        purpose=PURPOSES[sight.name],
        state=_state(sight, in_force),
        trouble=sight.trouble,
        switches=[(switch, switch.is_on(sight.faults)) for switch in switches_of(sight.name)],
        faults=[_fault_line(fault) for fault in sight.faults[:MOST_FAULTS]],
        more_faults=max(len(sight.faults) - MOST_FAULTS, 0),
        in_force=in_force,
        effects=[_effect_line(effect, undone, sight.deliveries) for effect in latest],
        done=len(sight.effects) - len(undone),
        taken_back=len(undone),
        calls=sum(sight.deliveries.values()),
    )


def summary(cards: Sequence[Card]) -> str:
    """All cards in a line: who does not answer, and how many faults are on."""
    gone = [f"{each.name} does not answer" for each in cards if each.state is ServiceState.GONE]
    on = sum(each.in_force for each in cards)
    faults = {0: "no fault is on", 1: "1 fault is on"}.get(on, f"{on} faults are on")
    return ", ".join([*gone, faults]).capitalize()


def _state(sight: Sight, in_force: int) -> ServiceState:
    if sight.trouble is not None:
        return ServiceState.GONE
    return ServiceState.FAULTY if in_force else ServiceState.WORKING


def _fault_line(fault: StandingFault) -> FaultLine:
    calls = "all calls" if fault.action == "*" else fault.action
    return FaultLine(
        kind=fault.kind.replace("_", " ") + _amount(fault),
        scope=calls if fault.order_id == "*" else f"{calls} of {fault.order_id}",
        hits=fault.hits,
        left={None: "until switched off", 0: "spent"}.get(fault.times, f"{fault.times} left"),
    )


def _amount(fault: StandingFault) -> str:
    if fault.seconds is not None:
        return f", {fault.seconds:g} s"
    return "" if fault.rate is None else f", {fault.rate:.0%}"


def _effect_line(effect: Effect, undone: set[str], deliveries: dict[str, int]) -> EffectLine:
    fate = "taken back" if effect.key in undone else "stands"
    return EffectLine(
        time=effect.at[11:19],
        action=effect.action,
        order_id=effect.order_id,
        what=_what(effect.details),
        calls=deliveries.get(effect.key, 0),
        fate=fate if effect.undoes is None else "takes back",
    )


def _what(details: ServiceDetails) -> str:
    """The details in few words: `2 × teapot`, `42.00`, `Elm Street 5`."""
    if "quantity" in details:
        return f"{details['quantity']} × {details.get('product')}"
    return ", ".join(f"{value / 100:.2f}" if name.endswith("_cents") else str(value) for name, value in details.items())
