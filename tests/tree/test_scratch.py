from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from tests.scratch import write_in_memory


@pytest.fixture(autouse=True)
def unset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # Remembers what it was, unset or not.
    monkeypatch.delenv("TMPDIR")
    monkeypatch.setattr(tempfile, "tempdir", "/before")


def test_temporary_files_go_where_there_is_room(tmp_path: Path) -> None:
    write_in_memory(tmp_path, room=0)
    assert Path(tempfile.gettempdir()) == tmp_path


def test_what_is_set_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", "/elsewhere")
    write_in_memory(tmp_path, room=0)
    assert tempfile.gettempdir() == "/before"


def test_without_room_they_go_where_they_went(tmp_path: Path) -> None:
    write_in_memory(tmp_path, room=10**18)
    write_in_memory(tmp_path / "missing", room=0)
    assert tempfile.gettempdir() == "/before"
