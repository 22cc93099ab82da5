"""A plugin of pytest: it writes the node ids of the tests that fail into the file ``--red``."""

from __future__ import annotations

from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take the file's name."""
    parser.addoption("--red", type=Path, required=True)


class _Failures:
    def __init__(self, file: Path) -> None:
        self._file = file

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._note(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._note(report.nodeid)

    def _note(self, nodeid: str) -> None:
        with self._file.open("a", encoding="utf-8") as file:
            file.write(f"{nodeid}\n")


def pytest_configure(config: pytest.Config) -> None:
    """Listen to the reports."""
    config.pluginmanager.register(_Failures(config.getoption("--red")))
