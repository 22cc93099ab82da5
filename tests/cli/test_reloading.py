"""``run --reload``: a changed file restarts the process, and a broken one waits for its mend."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.processes import Process

from .conftest import Stepward, one_line

pytestmark = pytest.mark.servers

SHOP = """
from stepward import App, workflow

@workflow
async def greet() -> str:
    return "{words}"

app = App("shop", workflows=[greet], store="sqlite:///stepward.db")
"""


@pytest.fixture
def running(empty: Path) -> Iterator[Process]:
    (empty / "shop.py").write_text(SHOP.format(words="hello"))
    process = Process(empty, "run", "shop.py:app", "--reload")
    yield process
    process.close()


def replace(folder: Path, text: str) -> None:
    """Change the application as an editor does: in one step."""
    (folder / "new").write_text(text)
    (folder / "new").replace(folder / "shop.py")


def test_a_changed_file_restarts_the_process(running: Process, empty: Path, stepward: Stepward) -> None:
    running.read_until("Ready")
    assert stepward("submit", "shop.py:app", "greet", "--wait").stdout == '"hello"\n'
    replace(empty, SHOP.format(words="good morning"))
    running.read_until("Changed: shop.py. Restarting.")
    running.read_until("Ready")
    assert stepward("submit", "shop.py:app", "greet", "--wait").stdout == '"good morning"\n'
    replace(empty, "app = 1 +")
    running.says("SyntaxError")
    replace(empty, SHOP.format(words="mended"))
    running.read_until("Ready")
    assert stepward("submit", "shop.py:app", "greet", "--wait").stdout == '"mended"\n'
    running.tell(signal.SIGTERM)
    running.read_until("Ended.")
    assert running.ended() == 0


def test_reload_and_processes_exclude_each_other(stepward: Stepward) -> None:
    found = stepward("run", "shop.py:app", "--reload", "--processes", "2")
    assert found.exit_code == 2
    assert "expected --reload or --processes, found both" in one_line(found)
