"""The chart of how many tasks were in each state, from the samples of the leading Supervisor."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from stepward.console.stacked_bars import BarPiece, stacked, upper_edge
from stepward.model.states import TaskState
from stepward.store.contract import MOST_SAMPLED, StateSample
from stepward.views.times import clock

KINDS = tuple(
    state.value
    for state in (
        TaskState.ERROR,
        TaskState.UNDOING,
        TaskState.PROCESSING,
        TaskState.PENDING,
        TaskState.WAITING,
        TaskState.SUSPENDED,
    )
)
"""From the bottom of a bar to its top."""
LABELS = 4


class ChartRange(Struct, frozen=True):
    """How far back a chart goes, in ``bars`` bars of ``seconds`` seconds."""

    word: str
    bars: int
    seconds: float


RANGES = (
    ChartRange("1h", 60, 60.0),
    ChartRange("6h", 72, 300.0),
    ChartRange("1d", 96, 900.0),
    ChartRange("7d", 84, 7200.0),
)


class StateBar(Struct, frozen=True, kw_only=True):
    """The sample of one bucket; no pieces where there is none."""

    left: float
    width: float
    title: str
    pieces: list[BarPiece]


class StateChart(Struct, frozen=True, kw_only=True):
    """The whole chart."""

    range: ChartRange
    bars: list[StateBar]
    top: int
    """The number at the upper edge."""
    kinds: list[str]
    """The states that occur."""
    labels: list[tuple[float, str]]
    """Positions in percent, with an instant."""
    is_bounded: bool
    """Whether there were more tasks in a state than a sample counts."""

    @property
    def is_empty(self) -> bool:
        """Whether there is no sample."""
        return not any(bar.title for bar in self.bars)


def range_of(word: str | None) -> ChartRange:
    """The range of that word; the shortest where there is none such."""
    return next((each for each in RANGES if each.word == word), RANGES[0])


def range_since(chosen: ChartRange, now: float) -> float:
    """The instant at which the first bar begins."""
    return (now // chosen.seconds - (chosen.bars - 1)) * chosen.seconds


def state_chart(samples: Sequence[StateSample], chosen: ChartRange, since: float) -> StateChart:
    """The chart of the samples from ``since`` on."""
    by_bar = {int((sample.at - since) // chosen.seconds): sample for sample in samples}
    top = upper_edge([sum(sample.counts.values()) for sample in samples])
    width = 100.0 / chosen.bars
    return StateChart(
        range=chosen,
        bars=[_bar(by_bar.get(number), number * width, width, top) for number in range(chosen.bars)],
        top=top,
        kinds=[kind for kind in KINDS if any(sample.counts.get(kind) for sample in samples)],
        labels=[_label(part / LABELS, chosen, since) for part in range(LABELS)],
        is_bounded=any(count >= MOST_SAMPLED for sample in samples for count in sample.counts.values()),
    )


def _bar(sample: StateSample | None, left: float, width: float, top: int) -> StateBar:
    if sample is None:
        return StateBar(left=left, width=width, title="", pieces=[])
    said = ", ".join(f"{sample.counts[kind]:,} {kind}" for kind in KINDS if sample.counts.get(kind)) or "no live task"
    return StateBar(
        left=left, width=width, title=f"{clock(sample.at)}: {said}", pieces=stacked(sample.counts, KINDS, top)
    )


def _label(part: float, chosen: ChartRange, since: float) -> tuple[float, str]:
    text = clock(since + int(part * chosen.bars) * chosen.seconds)
    return part * 100, text[5:16] if chosen.seconds * chosen.bars > 24 * 3600 else text[11:16]
