"""The guide: what it names is there, and what is there it names."""

from __future__ import annotations

import re

import pytest

from stepward.settings import Settings
from tests.deploy.files import DEPLOY, ROOT, VERSION, misuse_of_stepward
from tests.deploy.guide import GUIDE, RIGHTS, TRY_IT, blocks, commands, files, section


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
    typed = [command for block in blocks("console", GUIDE) for command in commands(block)]
    ours = [command for command in typed if re.search(r"\bstepward [a-z]", command.line.partition("enable")[0])]
    assert len(ours) > len(blocks("console", section(TRY_IT)))
    assert {command.line: misuse for command in ours if (misuse := misuse_of_stepward(command.arguments))} == {}


def test_none_of_its_commands_holds_a_password() -> None:
    typed = [command.line for block in blocks("console", GUIDE) for command in commands(block)]
    assert [line for line in typed if re.search(r"://[^@\s]*:[^@\s]*@|SECRET|PGPASSWORD", line)] == []


def test_each_kind_of_process_has_a_file_of_settings() -> None:
    read = {
        name for unit in (DEPLOY / "systemd").glob("*.service") for name in re.findall(r"%i-\w+\.env", unit.read_text())
    }
    named = set(files(section(RIGHTS)))
    assert {name.replace("%i", "shop") for name in read} <= named


@pytest.mark.parametrize("variable", sorted(set(re.findall(r"STEPWARD_[A-Z_]+", GUIDE))))
def test_its_settings_are_settings(variable: str) -> None:
    assert variable.removeprefix("STEPWARD_").lower() in {name for name, _, _ in Settings().describe()}
