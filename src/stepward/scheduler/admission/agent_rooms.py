"""The room that each Agent has for this Scheduler at present, given to the windows."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from stepward.scheduler.admission.fair_share import Room
from stepward.scheduler.admission.windows import LOCAL, LOCAL_ROOM, NO_AGENTS, Windows

UNREACHED = Room(0, is_barred=True)
"""Of an Agent to which no request gets through: what started for it would wait, and run out of time."""


class Rooms:
    """The room that Agents have as far as they are reached, and that of local steps."""

    def __init__(self, windows: Windows, rooms: Mapping[str, Room], stir: Callable[[], None]) -> None:
        self._windows = windows
        self._rooms = dict(rooms)
        self._stir = stir
        self._unreached: frozenset[str] = frozenset()
        self._is_closed = False

    def set(self, rooms: Mapping[str, Room]) -> None:
        """How many requests of this Scheduler each Agent takes; local steps keep their room."""
        self._rooms = {**rooms, **{agent: room for agent, room in self._rooms.items() if agent in NO_AGENTS}}
        self._give()

    def set_unreached(self, agents: frozenset[str]) -> None:
        """The Agents to which nothing gets through."""
        self._unreached = agents
        self._give()

    def set_stuck(self, stuck: int) -> None:
        """How many local steps do not stop: what is beyond those that are replaced takes up their room."""
        room = Room(LOCAL_ROOM.requests - min(LOCAL_ROOM.requests, max(0, stuck - LOCAL_ROOM.requests)))
        if room != self._rooms[LOCAL]:
            self._rooms[LOCAL] = room
            self._give()

    def close(self) -> None:
        """No Agent has room from now on."""
        self._is_closed = True
        self._windows.set_rooms({})

    def _give(self) -> None:
        if not self._is_closed:
            self._windows.set_rooms({**self._rooms, **dict.fromkeys(self._unreached, UNREACHED)})
        self._stir()
