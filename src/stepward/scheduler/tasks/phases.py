"""The phases of a task in a Scheduler's memory, and the moves between them, as data."""

from __future__ import annotations

from enum import StrEnum


class Phase(StrEnum):
    """What a Scheduler does with a task that it holds."""

    LOADING = "loading"
    """It was read or submitted, and nothing was made of its record yet."""
    ADVANCING = "advancing"
    """Workflow code is given what comes in."""
    CLEANING = "cleaning"
    """The run is over; its abandoned steps are undone before it is left."""
    CONTINUING = "continuing"
    """The run is left; the next one begins after this turn's commit."""
    SETTLING = "settling"
    """What a repair set aside is undone before the task goes on."""
    UNDOING = "undoing"
    """The task is undone, from its records alone."""
    STOPPED = "stopped"
    """Its code does not fit its record: it is released, and what came in is recorded."""
    RELEASED = "released"
    """This turn's change ends or releases it: after the commit it is forgotten."""
    RELOADING = "reloading"
    """After this turn's commit it is forgotten and read again, because it goes on in another direction."""


P = Phase
LEAVING = frozenset({P.STOPPED, P.RELEASED, P.RELOADING})
"""After this turn's commit the task is in memory no more; what comes in is for its next owner."""
BY_RECORD = frozenset({P.CLEANING, P.SETTLING, P.UNDOING})
"""The undo planner decides what comes next, and workflow code is given nothing."""

AT_ANY_TIME = frozenset({P.RELEASED, P.RELOADING})
"""A fault or a directive may end any task, and a change that missed has it read again."""
PHASE_MOVES: dict[Phase, frozenset[Phase]] = {
    P.LOADING: frozenset({P.ADVANCING, P.SETTLING, P.UNDOING}) | AT_ANY_TIME,
    P.ADVANCING: frozenset({P.CLEANING, P.CONTINUING, P.STOPPED}) | AT_ANY_TIME,
    P.CLEANING: frozenset({P.CONTINUING}) | AT_ANY_TIME,
    P.CONTINUING: frozenset({P.ADVANCING}) | AT_ANY_TIME,
    P.SETTLING: AT_ANY_TIME,
    P.UNDOING: AT_ANY_TIME,
    P.STOPPED: AT_ANY_TIME,
    P.RELEASED: frozenset({P.RELOADING}),
    P.RELOADING: frozenset({P.RELEASED}),
}
