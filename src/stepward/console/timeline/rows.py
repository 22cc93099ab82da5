"""The rows of a timeline: one for each step, undo below the step that it undoes, and one for many steps of a name."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from stepward.console.timeline.attempts import decisions_on, marks_of, spans_of
from stepward.console.timeline.spans import SpanKind, TimelineRow, TimelineSpan
from stepward.model.effects import SUFFIX, child_id, key_of
from stepward.model.pipeline_plan import is_planned
from stepward.model.records import Audit, Step, Task
from stepward.model.states import TASK_ENDS, StepKind, StepState

MOST_ROWS = 60
"""Number of steps from which those of one name are drawn as one row."""
LEAST_OF_GROUP = 5
MOST_OPENED = 200
"""Most steps of an opened group that are drawn in rows of their own, the first ones."""
MOST_APART = 20
"""Most failed or running steps of a group that are drawn in rows of their own, the first ones."""
ENDED_WELL = frozenset({StepState.COMPLETED, StepState.UNDONE, StepState.SKIPPED})
WORDS = {
    StepState.COMPLETED: "done",
    StepState.TO_REPEAT: "to repeat",
    StepState.NOT_STARTED: "waiting",
}


def timeline_rows(
    task: Task, steps: Sequence[Step], audits: Sequence[Audit], now: float, *, opened: Collection[str] = ()
) -> list[TimelineRow]:
    """The rows in the order in which the steps were requested; groups named in ``opened`` are drawn step by step."""
    end = task.finished_at if task.state in TASK_ENDS and task.finished_at is not None else now
    decisions = decisions_on(audits)
    asked = _asked_at(task, steps)
    rows = [
        _row(task, step, decisions.get((step.run, step.key), []), asked[step.run, step.key], end)
        for step in _ordered(steps)
        if not is_planned(step)
    ]
    return rows if len(rows) <= MOST_ROWS else _grouped(rows, opened)


def _ordered(steps: Sequence[Step]) -> list[Step]:
    """Steps by run and number; an undo has the number of the step that it undoes and follows it."""
    return sorted(steps, key=lambda step: (step.run, step.number, step.kind is StepKind.UNDO))


def _asked_at(task: Task, steps: Sequence[Step]) -> Mapping[tuple[int, str], float]:
    """The instant at which each step was requested: that of the last outcome delivered to the workflow before it."""
    began = task.created_at if task.started_at is None else task.started_at
    found: dict[tuple[int, str], float] = {}
    for run in {step.run for step in steps}:
        own = [step for step in steps if step.run == run]
        delivered = sorted((s.asked, s.finished_at) for s in own if s.asked is not None and s.finished_at is not None)
        latest, last = [], began
        for _, at in delivered:
            last = max(last, at)
            latest.append(last)
        counts = [asked for asked, _ in delivered]
        for step in own:
            index = bisect_left(counts, step.number)
            asked_at = latest[index - 1] if index else began
            undo = step.kind is StepKind.UNDO or step.generation > 0
            started = step.started_at
            found[run, step.key] = asked_at if started is None else started if undo else min(asked_at, started)
    return found


def _row(task: Task, step: Step, decisions: Sequence[Audit], asked_at: float, now: float) -> TimelineRow:
    spans = spans_of(step, decisions, asked_at, now)
    starts = [span.start for span in spans if span.kind is SpanKind.ATTEMPT]
    return TimelineRow(
        key=step.key,
        run=step.run,
        name=step.name,
        kind=step.kind,
        state=step.state,
        depth=int(step.key.endswith(SUFFIX)),
        agent=step.agent,
        instance=task.locked_by if step.state is StepState.RUNNING else None,
        attempt=step.attempt,
        idempotency_key=key_of(step),
        spans=spans,
        marks=marks_of(step, decisions, starts),
        child=child_id(task, step) if step.kind is StepKind.CHILD else None,
        is_set_aside=step.set_aside_at is not None,
        is_in_doubt=step.in_doubt,
    )


def _grouped(rows: Sequence[TimelineRow], opened: Collection[str]) -> list[TimelineRow]:
    together: dict[tuple[str, int], list[TimelineRow]] = {}
    for row in rows:
        together.setdefault((row.name, row.depth), []).append(row)
    found: list[TimelineRow] = []
    for (name, _), own in together.items():
        if len(own) < LEAST_OF_GROUP:
            found += own
        elif name in opened:
            found += own if len(own) <= MOST_OPENED else [_group(own), *own[:MOST_OPENED]]
        else:
            apart = [row for row in own if row.state not in ENDED_WELL][:MOST_APART]
            found += [_group(own), *apart]
    return found


def _group(rows: Sequence[TimelineRow]) -> TimelineRow:
    first = rows[0]
    counts = Counter(row.state for row in rows)
    ends = ", ".join(f"{count:,} {WORDS.get(state, state)}" for state, count in counts.most_common())
    return TimelineRow(
        key=first.name,
        run=first.run,
        name=first.name,
        kind=first.kind,
        state=next((row.state for row in rows if row.state not in ENDED_WELL), first.state),
        depth=first.depth,
        agent=first.agent,
        spans=_union([span for row in rows for span in row.spans if span.kind is SpanKind.ATTEMPT]),
        group=f"{first.name} × {len(rows):,}: {ends}",
    )


def _union(spans: Sequence[TimelineSpan]) -> tuple[TimelineSpan, ...]:
    """The spans in which any of the rows was running."""
    found: list[TimelineSpan] = []
    for span in sorted(spans, key=lambda span: span.start):
        if found and span.start <= found[-1].end:
            last = found.pop()
            found.append(TimelineSpan(kind=last.kind, start=last.start, end=max(last.end, span.end)))
        else:
            found.append(TimelineSpan(kind=span.kind, start=span.start, end=span.end))
    return tuple(found)
