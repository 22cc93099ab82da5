"""Log lines as JSON, with the fields of the text lines."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from stepward.cli.processes.logs import log_to_stderr
from stepward.errors import SettingsError
from stepward.events import Observers
from stepward.observers.logs import LogObserver
from stepward.settings import Settings


@contextmanager
def logging_to_stderr(**settings: Any) -> Iterator[None]:
    """A root logger without handlers, as a process starts with it, that logs as ``stepward run`` does."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    root.handlers.clear()
    log_to_stderr(Settings(log_format="json"), **settings)
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
        logging.captureWarnings(False)


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


def test_a_line_has_the_fields_of_the_event(capsys: pytest.CaptureFixture[str]) -> None:
    with logging_to_stderr(process=2):
        Observers(LogObserver()).emit("task.processed", task="order-1", seconds=1.5, parent=None, note="two\nwords")
    (line,) = lines(capsys)
    assert line.pop("time").endswith("Z")
    assert line == {
        "level": "INFO",
        "process": 2,
        "logger": "stepward.task",
        "event": "task.processed",
        "task": "order-1",
        "seconds": 1.5,
        "note": "two\nwords",
    }


def test_other_records_have_a_message(capsys: pytest.CaptureFixture[str]) -> None:
    with logging_to_stderr():
        logging.getLogger("other").warning("%s of %s", 1, 2)
    (line,) = lines(capsys)
    assert (line["logger"], line["message"]) == ("other", "1 of 2")


def test_a_traceback_stays_on_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    with logging_to_stderr():
        try:
            raise ValueError("no")
        except ValueError:
            logging.getLogger("other").exception("broke")
    (line,) = lines(capsys)
    assert line["traceback"].endswith("ValueError: no")


def test_texts_are_cut_and_bytes_are_decoded(capsys: pytest.CaptureFixture[str]) -> None:
    with logging_to_stderr():
        Observers(LogObserver()).emit("probe.seen", error=b"x" * 2000, workflows=["a", "b"])
    (line,) = lines(capsys)
    assert (line["error"], line["workflows"]) == ("x" * 1000 + "…", ["a", "b"])


def test_only_text_and_json_are_formats() -> None:
    with pytest.raises(SettingsError, match="log_format: expected text or json"):
        Settings(log_format="xml")
