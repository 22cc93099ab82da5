"""A plan drawn as a graph of text: a line for each stage, lanes that lead from it to the stages that wait for it.

A wait that others imply is not drawn: ``a → c`` beside ``a → b → c``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import NamedTuple

MOST_LANES = 8
"""Most lanes side by side; a wider graph would not be readable."""
LINES = {
    "ud": "│",
    "lr": "─",
    "udr": "├",
    "udl": "┤",
    "ur": "╰",
    "ul": "╯",
    "dr": "╭",
    "dl": "╮",
    "dlr": "┬",
    "ulr": "┴",
    "udlr": "┼",
}
"""Box-drawing characters by their connections up, down, left and right."""

Lanes = list[str | None]
"""The stage to which each lane leads; None for a free lane."""


class GraphLine(NamedTuple):
    """A line of the drawing; the sign of its stage stands between ``before`` and ``after``."""

    before: str
    stage: str | None
    after: str = ""


def drawn(waits_for: Mapping[str, Sequence[str]]) -> list[GraphLine] | None:
    """The drawing of stages in the order of their plan; None where it would be too wide."""
    followers = _followers(waits_for)
    lanes: Lanes = []
    lines: list[GraphLine] = []
    ended: int | None = None
    for stage in waits_for:
        place = _enter(lanes, stage, ended)
        lines.append(GraphLine(_bars(lanes[:place]), stage, _bars(lanes[place + 1 :], first=False)))
        before, joined = list(lanes), _leave(lanes, place, followers[stage])
        if max(len(before), len(lanes)) > MOST_LANES:
            return None
        if joined != {place}:
            lines.append(GraphLine(_joint(before, lanes, joined), None))
        ended = None if followers[stage] else place
        while lanes and lanes[-1] is None:
            lanes.pop()
    return lines


def _followers(waits_for: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """The followers of each stage, without those that follow another follower."""
    numbers = {stage: 1 << number for number, stage in enumerate(waits_for)}
    above: dict[str, int] = {}
    followers: dict[str, list[str]] = {stage: [] for stage in waits_for}
    for stage, sources in waits_for.items():
        implied = 0
        for source in sources:
            implied |= above[source]
        above[stage] = implied
        for source in sources:
            above[stage] |= numbers[source]
            if not implied & numbers[source]:
                followers[source].append(stage)
    return followers


def _enter(lanes: Lanes, stage: str, ended: int | None = None) -> int:
    """The lane of the stage: the one that leads to it, or a free one.

    Not one that ``ended`` on the line above: a sign right below another seems to follow it.
    """
    if stage in lanes:
        return lanes.index(stage)
    place = next(place for place in count() if place != ended and (place >= len(lanes) or lanes[place] is None))
    lanes.extend([None] * (place + 1 - len(lanes)))
    lanes[place] = stage
    return place


def _leave(lanes: Lanes, place: int, followers: Sequence[str]) -> set[int]:
    """Lead lanes to all followers, the first new one straight on; the positions that are connected to the stage's."""
    lanes[place] = None
    joined = {place}
    for follower in followers:
        if lanes[place] is None and follower not in lanes:
            lanes[place] = follower
        joined.add(_enter(lanes, follower))
    return joined


def _bars(lanes: Lanes, *, first: bool = True) -> str:
    text = "".join("  " if lane is None else "│ " for lane in lanes)
    return text if first else f" {text}".rstrip()


def _joint(before: Lanes, after: Lanes, joined: set[int]) -> str:
    """The line between two stages on which lanes part and meet."""
    first, last = min(joined), max(joined)
    cells = []
    for place in range(max(len(before), len(after))):
        up = place < len(before) and before[place] is not None
        down = place < len(after) and after[place] is not None
        left, right = first < place <= last, first <= place < last
        if place not in joined and (up or down):
            left = right = False
        ways = "".join(way for way, leads in zip("udlr", (up, down, left, right), strict=True) if leads)
        cells.append(LINES.get(ways, " ") + ("─" if first <= place < last else " "))
    return "".join(cells).rstrip()
