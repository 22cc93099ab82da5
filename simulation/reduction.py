"""What of a seed's world is left out: the shrinker finds the smallest world that still breaks."""

from __future__ import annotations

from dataclasses import dataclass

from simulation.environment.faults import KINDS


@dataclass(frozen=True, slots=True)
class Cut:
    """Parts of a world that do not come about; everything else is drawn as without a cut."""

    faults: frozenset[str] = frozenset()
    """Kinds of faults, by their names in ``Rates``."""
    tasks: frozenset[str] = frozenset()
    """Ids of tasks and messages that are not submitted or posted."""
    processes: frozenset[str] = frozenset()
    """Names of processes that are not started."""
    salt: int = 0
    """Another order of what happens at one instant; a smaller world may need one to break as the whole one does."""


WHOLE = Cut()
CALM = Cut(faults=KINDS)
"""No fault strikes."""


@dataclass(frozen=True, slots=True)
class CutParts:
    """What a cut can leave out of one world."""

    faults: list[str]
    tasks: list[str]
    processes: list[str]
