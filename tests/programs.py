"""Programs beside Python's packages that tests drive for real."""

from __future__ import annotations

import os
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

import pytest

from servers.activemq import VARIABLE, distribution


def program(name: str, package: str) -> str:
    """Where the program is; without it a test is skipped and says so, on continuous integration it fails."""
    found = shutil.which(name) or shutil.which(name, path=str(Path(sys.executable).parent))
    if found is None:
        _missing(f"expected the program {name}, found none: install {package}")
    return found


def client_of_amqp10() -> None:
    """Without the client of AMQP 1.0 a test is skipped and says so, on continuous integration it fails."""
    if find_spec("proton") is None:
        _missing("expected python-qpid-proton, found none: run make .venv/amqp10.stamp")


def activemq() -> Path:
    """The folder of an ActiveMQ that speaks AMQP 1.0; without it a test is skipped and says so: no package has it."""
    found = distribution()
    if found is None:
        pytest.skip(f"expected a distribution of ActiveMQ with AMQP in the folder {VARIABLE}, found none")
    return found


def npm_file(path: Path) -> str:
    """The text of a file of npm's packages; without it a test is skipped and says so, on continuous integration it
    fails."""
    if not path.exists():
        _missing(f"expected {path.name}, found none: run tests/install-programs")
    return path.read_text(encoding="utf-8")


def _missing(what: str) -> NoReturn:
    if os.environ.get("CI"):
        pytest.fail(what)
    pytest.skip(what)
