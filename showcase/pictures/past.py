"""A past for a store that is seconds old: ended tasks are spread over the last hour, and samples over the last week."""

from __future__ import annotations

import json
import math
import random
import sqlite3
import time
from pathlib import Path

MINUTE = 60.0
WEEK_MINUTES = 7 * 24 * 60
RECENT_MINUTES = 3
"""The youngest minutes, which keep what really happened in them."""


def make_past(store: Path, seed: int = 7) -> None:
    """Change the rows of a store that no process has open."""
    chance = random.Random(seed)
    with sqlite3.connect(store) as rows:
        (now,) = rows.execute("select max(created_at) from stepward_task").fetchone()
        _spread_ends(rows, chance)
        _write_samples(rows, now or time.time(), chance)
    rows.close()


def _spread_ends(rows: sqlite3.Connection, chance: random.Random) -> None:
    """Most tasks that ended well did so in the hour before; their steps move with them."""
    old = rows.execute("select uid from stepward_task where id like 'order-1%'").fetchall()
    for (uid,) in old:
        back = MINUTE * chance.uniform(RECENT_MINUTES, 59.5)
        rows.execute(
            "update stepward_task set created_at = created_at - ?, started_at = started_at - ?, "
            "finished_at = finished_at - ? where uid = ?",
            (back, back, back, uid),
        )
        rows.execute(
            "update stepward_step set started_at = started_at - ?, finished_at = finished_at - ? where task = ?",
            (back, back, uid),
        )


def _write_samples(rows: sqlite3.Connection, now: float, chance: random.Random) -> None:
    """A busy noon, a quiet night, and a bank that went away twenty minutes ago."""
    rows.execute("delete from stepward_state_sample")
    for minute in range(WEEK_MINUTES):
        busy = 5 + 3 * math.sin((now - minute * MINUTE) / 86_400 * 2 * math.pi)
        outage = max(0, 20 - minute) if minute <= 20 else 0
        counts = {
            "processing": round(busy + chance.random() * 3),
            "pending": round(chance.random()) + outage // 4,
            "waiting": round(busy / 2),
            "suspended": int(minute < 9),
            "error": 1 + outage // 5 if minute <= 20 else int(minute < 200),
        }
        shown = json.dumps({state: count for state, count in counts.items() if count})
        rows.execute("insert into stepward_state_sample values (?, ?)", (now - minute * MINUTE, shown))
