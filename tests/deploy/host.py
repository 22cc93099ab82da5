"""A host on which Stepward is deployed by the page: its files, its units, and the operators' commands.

A unit is started as systemd would, from its own text: command, environment and files of settings. What only root or
systemd can do (users, sandboxes) is left out.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from tests.cli.processes import Process, done, looks
from tests.deploy import guide
from tests.deploy.files import DEPLOY
from tests.deploy.unit_rules import read

PACE = {"STEPWARD_LEASE": "2s"}
"""Beside what the page says, so that a death is noticed soon."""


class Host:
    """A folder in place of ``/etc/stepward`` and ``/var/lib/stepward/shop``; names of servers are replaced by ours."""

    def __init__(self, folder: Path, names: Mapping[str, str] | None = None) -> None:
        self.state = folder / "state" / "stepward" / "shop"
        self._etc = folder / "etc"
        self._names = names or {}
        self._running = ExitStack()
        for made in (self.state, self._etc):
            made.mkdir(parents=True)
        (self.state / "shop.py").write_text(guide.application(), encoding="utf-8")

    def install(self, files: Mapping[str, str]) -> None:
        """Write files of settings, or add to those that are there."""
        for name, text in files.items():
            with (self._etc / name).open("a", encoding="utf-8") as file:
                file.write(self._ours(text))

    def settings(self, name: str) -> dict[str, str]:
        """What a file of settings says; nothing if there is none."""
        file = self._etc / name
        lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
        return dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))

    def start(self, unit: str, drop_in: str = "") -> Process:
        """Start a unit, and wait until it is ready; the drop-in is read after its text."""
        return self.run(*self._command(unit, drop_in))

    def start_once(self, unit: str) -> subprocess.CompletedProcess[str]:
        """Start a unit that ends by itself, and wait for that."""
        arguments, environment = self._command(unit, "")
        return done(self.state, *arguments, **environment)

    def run(self, arguments: list[str], environment: Mapping[str, str]) -> Process:
        """Start a process that runs on, and wait until it is ready."""
        process = Process(self.state, *arguments, **environment)
        self._running.callback(process.close)
        process.read_until("Ready")
        return process

    def type(self, command: guide.Command, file: str = "") -> subprocess.CompletedProcess[str]:
        """Carry out a command of the page, with the settings of that file."""
        return self.ask(*command.arguments, file=file)

    def ask(self, *arguments: str, file: str = "") -> subprocess.CompletedProcess[str]:
        """Carry out ``stepward ARGUMENTS…`` in the folder of state, with the settings of that file."""
        return done(self.state, *arguments, **{**PACE, **self.settings(file)})

    def close(self) -> None:
        """End all that was started."""
        self._running.close()

    def _command(self, unit: str, drop_in: str) -> tuple[list[str], Mapping[str, str]]:
        """What a unit runs, after the program's name, and its environment."""
        text = (DEPLOY / "systemd" / f"{unit}@.service").read_text(encoding="utf-8")
        said = read(f"{text}\n{drop_in}".replace("%S", str(self.state.parents[1])).replace("%i", "shop"))
        environment = dict(PACE) | dict(each.split("=", 1) for each in said["Environment"])
        for file in said["EnvironmentFile"]:
            environment |= self.settings(Path(file).name)
        command = said["ExecStart"][-1].replace("${APP}", environment.pop("APP", ""))
        return shlex.split(command)[1:], environment

    def _ours(self, text: str) -> str:
        return re.sub("|".join(map(re.escape, self._names)) or r"(?!)", lambda found: self._names[found[0]], text)


def try_it(host: Host, application: str = "", operator: str = "") -> None:
    """Carry out the section *Try it*; each line that it shows is printed."""
    for block, file in zip(guide.blocks("console", guide.section(guide.TRY_IT)), (application, operator), strict=True):
        for command in guide.commands(block):
            ran = host.type(command, file)
            printed = f"{ran.stdout}\n{ran.stderr}".splitlines()
            for line in command.shown:
                assert any(each.startswith(line) for each in printed), (command.line, printed)
            assert ran.returncode == (1 if "was undone" in "".join(command.shown) else 0), (command.line, printed)


def survive_a_death(host: Host, killed: Process, other: str, application: str = "", operator: str = "") -> None:
    """Kill what holds a task, and see another unit of its kind end the task."""
    done_well(host.ask("agents", "suspend", "payments", file=operator))
    done_well(host.ask("submit", "shop:app", "fulfil", '"order-4"', "--id", "order-4", file=application))
    for _ in looks():
        if json.loads(host.ask("show", "order-4", "--json", file=operator).stdout)["locked_by"] is not None:
            break
    killed.tell(9)
    killed.ended()
    host.start(other)
    done_well(host.ask("agents", "resume", "payments", file=operator))
    ended = host.ask("submit", "shop:app", "fulfil", '"order-4"', "--id", "order-4", "--wait", file=application)
    assert ended.stdout == '"paid for order-4"\n', ended.stderr
    shown = [""]
    for _ in looks():
        listed = host.ask("instances", file=operator).stdout.splitlines()
        shown = [line for line in listed if f" {killed.pid} " in line]
        if "dead" in shown[0]:
            break
    assert "dead" in shown[0], shown


def done_well(ran: subprocess.CompletedProcess[str]) -> None:
    """Expect exit code 0."""
    assert ran.returncode == 0, (ran.args, ran.stderr)
