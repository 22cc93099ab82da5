"""The guide: what it names is there, and what is there it names."""

from __future__ import annotations

import re
import shlex

import pytest

from stepward.settings import Settings
from tests.deploy.files import DEPLOY, ROOT, VERSION, misuse_of_stepward

GUIDE = (ROOT / "docs/deployment.md").read_text(encoding="utf-8")


def test_the_files_it_names_are_there() -> None:
    named = set(re.findall(r"(?<![\w/])(?:deploy|docs|examples)/[\w./@-]*\w", GUIDE))
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_it_names_every_unit() -> None:
    units = [file for file in (DEPLOY / "systemd").iterdir() if "@" in file.name]
    shown = {f"`{file.stem}shop{'.timer' if file.suffix == '.timer' else ''}`" for file in units}
    # The one that the timer starts is not started by hand.
    assert {name for name in shown if name not in GUIDE} == {"`stepward-supervise-once@shop`"}


def test_its_versions_are_ours() -> None:
    assert set(re.findall(r"stepward(?:-orders)?:(\d[\w.]*)", GUIDE)) == {VERSION}


def test_its_commands_are_commands() -> None:
    [command] = re.findall(r"bin/stepward (.*)$", GUIDE, re.MULTILINE)
    assert misuse_of_stepward(shlex.split(command)) is None
    assert misuse_of_stepward(["run", "shop:app"]) is None


@pytest.mark.parametrize("variable", sorted(set(re.findall(r"STEPWARD_[A-Z_]+", GUIDE))))
def test_its_settings_are_settings(variable: str) -> None:
    assert variable.removeprefix("STEPWARD_").lower() in {name for name, _, _ in Settings().describe()}
