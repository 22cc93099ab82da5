"""What ends a process of actors otherwise than a signal, and how it logs."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import pytest

from stepward.cli.processes.logs import OneLine
from stepward.host.leases import InstanceLeases

from .conftest import SHOP, Stepward


def test_an_actor_that_ends_by_a_bug_ends_the_process(
    empty: Path, stepward: Stepward, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(_: InstanceLeases) -> None:
        raise RuntimeError("surprise")

    monkeypatch.setattr(InstanceLeases, "keep", broken)
    result = stepward("run", SHOP)
    assert result.exit_code == 1
    assert result.stderr.startswith("stepward: this is a bug: RuntimeError: surprise")
    assert "Ended in good order." not in result.stdout


def test_a_store_that_cannot_be_reached(empty: Path, stepward: Stepward) -> None:
    result = stepward("run", SHOP, STEPWARD_STORE="sqlite:////nowhere/at/all.db")
    assert result.exit_code == 3
    assert "expected the folder /nowhere/at, found none" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_a_record_with_a_traceback_is_one_line() -> None:
    try:
        raise ValueError("first\nsecond")
    except ValueError:
        record = logging.LogRecord("shop", logging.ERROR, __file__, 1, "a\r\nb %s", ("c\x1b[1m",), sys.exc_info())
    line = OneLine().format(record)
    assert "Traceback" in line
    assert "second" in line
    assert line.isprintable()
