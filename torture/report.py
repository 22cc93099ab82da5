"""The output: a line every few seconds, and a table at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import pairwise

from torture.books import Records
from torture.faults.faults import TortureFaults

MOST_SHOWN = 30
LONG_SECONDS = 180.0
"""A run of this length has time for every kind of fault."""


def live(elapsed: float, open_tasks: int, ended: int, faults: TortureFaults) -> str:
    """The line about the present state."""
    delivered, attempted = faults.delivered.total(), faults.attempted.total()
    return (
        f"{elapsed:5.0f} s  {ended:6,} tasks ended, {open_tasks:4} under way  "
        f"{delivered:4} of {attempted} faults delivered, the last: {faults.last}"
    )


def table(books: Records, faults: TortureFaults, lives: Mapping[str, int], seconds: float) -> str:
    """The table of faults and results."""
    rows = [("fault", "attempted", "delivered")]
    rows += [(name, str(faults.attempted[name]), str(faults.delivered[name])) for name in faults.weights]
    rows.append(("all", str(faults.attempted.total()), str(faults.delivered.total())))
    lines = [f"{name:<24}{attempted:>10}{delivered:>11}" for name, attempted, delivered in rows]
    if seconds >= LONG_SECONDS and faults.missing:
        lines.append(f"NOT ONCE DELIVERED: {', '.join(faults.missing)}")
    states = Counter(task.state for task in books.tasks)
    repeated = sum(step.attempt > 1 for step in books.steps)
    asked = sum(entry.calls for entry in books.entries)
    lines += [
        "",
        f"tasks      {len(books.tasks):,}: "
        + ", ".join(f"{count:,} {state}" for state, count in sorted(states.items())),
        f"steps      {len(books.steps):,}, {repeated:,} of them took more than one attempt",
        f"effects    {len(books.entries):,}, asked for {asked:,} times; "
        f"{sum(not call.taken for call in books.calls):,} came after their undo and were refused",
        f"decisions  {len(books.decisions):,} by Supervisors",
        f"events     {len(books.heard):,} heard",
        f"snapshots  {len(books.snapshots):,} held; the server's clock was moved {_moves(books):,} times",
        *_migrations(books),
        *_beside(books),
        "processes  " + ", ".join(f"{count} of {role}" for role, count in lives.items()) + " were started",
    ]
    return "\n".join(lines)


def _beside(books: Records) -> list[str]:
    if books.beside is None:
        return []
    done = f"{len(books.beside.tasks):,} tasks, {len(books.beside.entries):,} effects"
    return [f"second     {done} of the second application under the name; {len(books.trespasses):,} were to be refused"]


def _migrations(books: Records) -> list[str]:
    if books.standing is None:
        return []
    times = [each.longest for each in books.migrations if each.longest is not None]
    longest = f", in which no step ended for {max(times):.1f} s at most" if times else ""
    ended = sum(each.ended for each in books.migrations)
    return [
        f"migrations {len(books.migrations):,} to version {books.standing.version} while {ended:,} steps ended{longest}"
    ]


def _moves(books: Records) -> int:
    return sum(before[1:] != after[1:] for before, after in pairwise(books.times))


def broken(found: list[str]) -> str:
    """What does not hold."""
    lines = [f"  {line}" for line in found[:MOST_SHOWN]]
    more = [f"  … and {len(found) - MOST_SHOWN} more"] if len(found) > MOST_SHOWN else []
    return "\n".join([f"BROKEN: {len(found)}", *lines, *more])
