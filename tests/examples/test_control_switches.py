"""Faults that the panel sets when a switch is turned: one fault more or less, and no other."""

from __future__ import annotations

import msgspec
import pytest

from examples.shop.services.control.switches import SWITCHES, Switch, switched, switches_of
from examples.shop.services.faults import Fault, FaultKind, StandingFault

BY_ID = {switch.id: switch for switch in SWITCHES}
OF_AN_ORDER = Fault(kind=FaultKind.DOWN, order_id="order-1", action="charge", times=10)


def standing(*faults: Fault) -> list[StandingFault]:
    return [
        StandingFault(number=number, seen=3, hits=2, **msgspec.structs.asdict(fault))
        for number, fault in enumerate(faults, 1)
    ]


@pytest.mark.parametrize("switch", SWITCHES, ids=lambda switch: switch.id)
def test_a_switch_turns_its_fault_on_and_off(switch: Switch) -> None:
    put = switched([], switch, on=True)
    assert put == [switch.fault]
    assert switch.is_on(standing(*put))
    assert switched(standing(*put), switch, on=True) == put
    assert switched(standing(*put), switch, on=False) == []


def test_other_faults_are_kept_and_those_of_others_stay_in_front() -> None:
    down, slow = BY_ID["down"], BY_ID["slow"]
    put = switched(standing(slow.fault, OF_AN_ORDER), down, on=True)
    assert put == [OF_AN_ORDER, down.fault, slow.fault]
    assert switched(standing(*put), slow, on=False) == [OF_AN_ORDER, down.fault]


def test_a_used_up_fault_is_off_and_not_set_again() -> None:
    crash = BY_ID["crash"]
    [struck] = standing(crash.fault)
    spent = msgspec.structs.replace(struck, times=0)
    assert not crash.is_on([spent])
    assert switched([spent], BY_ID["flaky"], on=True) == [BY_ID["flaky"].fault]
    assert switched([spent], crash, on=True) == [crash.fault]


def test_a_fault_for_one_order_is_not_the_switch_s() -> None:
    assert not BY_ID["down"].is_on(standing(OF_AN_ORDER))
    assert switched(standing(OF_AN_ORDER), BY_ID["down"], on=False) == [OF_AN_ORDER]


def test_only_payment_declines() -> None:
    assert BY_ID["declined"] in switches_of("payment")
    assert BY_ID["declined"] not in switches_of("parcel")
