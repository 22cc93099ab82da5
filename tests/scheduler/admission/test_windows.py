"""How far the windows of Agents are open: at once at the start, step by step after an outage."""

from __future__ import annotations

from stepward.model.records import Step
from stepward.model.states import StepKind, StepState
from stepward.scheduler.admission.fair_share import Room
from stepward.scheduler.admission.windows import LONGEST_LOOK, STARVED_AFTER, Windows

NONE = Room(0)
LOOKS = [LONGEST_LOOK * number for number in range(round(STARVED_AFTER / LONGEST_LOOK) + 1)]
"""Long enough that an alert is raised at the last of them."""


def step(number: int) -> Step:
    return Step(
        task=f"t{number}",
        run=1,
        key="pay/1",
        number=1,
        name="pay",
        kind=StepKind.OPERATION,
        state=StepState.NOT_STARTED,
        agent="bank",
    )


def filled(desk: Windows, first: int = 0) -> int:
    """Take places until there is none; how many there were."""
    number = first
    while desk.take(step(number), 5):
        number += 1
    return number - first


def test_what_is_there_at_the_start_is_open_at_once() -> None:
    assert filled(Windows({"bank": Room(10)})) == 10
    desk = Windows({})
    desk.set_rooms({"bank": Room(10)})
    assert (filled(desk), desk.is_opening) == (10, False)


def test_after_an_outage_a_window_opens_from_one_and_doubles_with_each_step() -> None:
    desk = Windows({"bank": Room(10)})
    desk.set_rooms({"bank": NONE})
    assert (filled(desk), desk.is_opening) == (0, False)
    opened, found = [], 0
    desk.set_rooms({"bank": Room(10)})
    for _ in range(5):
        found += filled(desk, found)
        opened.append(found)
        # Repeating the same report makes it no faster.
        desk.set_rooms({"bank": Room(10)})
        desk.widen()
    assert (opened, desk.is_opening) == ([1, 2, 4, 8, 10], False)


def test_each_answer_lets_one_more_out_while_it_opens() -> None:
    desk = Windows({"bank": Room(10)})
    desk.set_rooms({"bank": NONE})
    desk.set_rooms({"bank": Room(4)})
    assert filled(desk) == 1
    desk.free(step(0))
    desk.free(step(0))
    assert filled(desk, 10) == 2
    for number in (10, 11):
        desk.free(step(number))
    assert filled(desk, 20) == 4
    desk.free(step(20))
    assert filled(desk, 30) == 1


def test_a_smaller_share_holds_at_once() -> None:
    desk = Windows({"bank": Room(10)})
    assert filled(desk) == 10
    desk.set_rooms({"bank": Room(3)})
    for number in range(7):
        desk.free(step(number))
    assert filled(desk, 10) == 0
    desk.free(step(7))
    assert filled(desk, 10) == 1


def test_behind_an_open_breaker_the_next_request_waits_for_the_result_of_the_probe() -> None:
    desk = Windows({"bank": Room(10)})
    desk.set_rooms({"bank": Room(1, is_barred=True)})
    assert filled(desk) == 1
    desk.free(step(0))
    assert (filled(desk, 10), desk.is_opening) == (0, False)
    desk.set_rooms({"bank": Room(1, is_barred=True)})
    assert filled(desk, 20) == 1
    desk.set_rooms({"bank": Room(10)})
    assert filled(desk, 30) == 0
    desk.widen()
    assert filled(desk, 40) == 1


def test_demand_is_what_is_out_and_what_waits() -> None:
    desk = Windows({"bank": Room(2), "post": Room(2)})
    filled(desk)
    desk.wait(step(7), 5, None, 0.0)
    assert desk.demand() == {"bank": 3}


def test_steps_of_an_agent_that_an_operator_or_a_breaker_closed_do_not_count_as_starved() -> None:
    desk = Windows({"bank": Room(0, is_barred=True)})
    desk.wait(step(1), 5, None, 0.0)
    assert told(desk, *LOOKS) == []
    desk.set_rooms({})
    assert told(desk, *LOOKS[:-1]) == []
    assert told(desk, LOOKS[-1]) == ["bank"]


def test_a_clock_that_is_stepped_makes_no_step_count_as_starved() -> None:
    """A standby took over whose clock is ahead or behind, just as an Agent's instances begin again."""
    desk = Windows({"bank": Room(0)})
    desk.wait(step(1), 5, None, 0.0)
    assert told(desk, 0.0, 1.0, 3601.0, 3602.0, 2.0, 3.0) == []
    desk.set_rooms({"bank": Room(2)})
    assert told(desk, *LOOKS) == []


def told(desk: Windows, *looks: float) -> list[str]:
    """The Agents for which an alert is raised at these checks."""
    return [agent for at in looks for agent, _ in desk.starved(at)]


def test_the_oldest_wait_is_that_of_the_step_that_came_first() -> None:
    desk = Windows({"bank": Room(0)})
    assert desk.waits() == {}
    desk.wait(step(1), 5, None, 10.0)
    desk.wait(step(2), 9, None, 15.0)
    assert desk.waits() == {"bank": 10.0}
    desk.free(step(1))
    assert desk.waits() == {"bank": 15.0}
