"""The replay of recorded histories in users' tests."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from stepward.app import App
from stepward.errors import DeclarationError, NonDeterministic
from stepward.replaying.histories import TaskHistory, archived
from stepward.replaying.report import ReplayReport
from stepward.supervisor.archives.task_reader import history_of


def replay(app: App, history: str | Path | bytes) -> None:
    """Replay recorded tasks with the code of ``app``; nothing is called.

    ``history`` is a file or a folder of histories, as `stepward history` prints them and retention archives them, or
    one such line as bytes. Raises NonDeterministic with both sides at the first task that would stop,
    ArchiveUnavailable for what cannot be read, DeclarationError where there is no history.
    """
    histories: Iterable[TaskHistory] = [history_of(history)] if isinstance(history, bytes) else archived(Path(history))
    report = ReplayReport(app.registry)
    for task, steps in histories:
        report.add(task, steps)
        if not report.is_fit:
            raise NonDeterministic(report.findings[0].message)
    if not report.replayed:
        raise DeclarationError(f"replay(): expected a history of a task of {app!r}, found none in {history!r:.100}")
