"""What every systemd service of ours keeps to. Pure: the text of a unit in, complaints out."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stepward import durations
from stepward.settings import Settings
from tests.deploy.files import misuse_of_stepward

EXECUTABLE = "/opt/stepward/%i/bin/stepward"
COMMON = "# The rest is alike"
MARGIN_SECONDS = 10
WANTED = {
    "StateDirectory": ["stepward/%i"],
    "WorkingDirectory": ["%S/stepward/%i"],
    "NoNewPrivileges": ["yes"],
    "ProtectSystem": ["strict"],
    "CapabilityBoundingSet": [""],
    "MemoryMax": ["1G"],
    "TasksMax": ["256"],
    "UMask": ["0077"],
}

Unit = dict[str, list[str]]


def complaints(text: str) -> list[str]:
    """The errors of a service, one line each."""
    unit = read(text)
    return [
        *_unwanted(unit),
        *_files(unit),
        *_user(unit),
        *_store(unit),
        *_command(unit),
        *_stop(unit),
        *_restart(unit),
    ]


def read(text: str) -> Unit:
    """Each setting with its values, in their order; the sections' names never clash in ours."""
    unit: Unit = {}
    for line in text.splitlines():
        name, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            unit.setdefault(name, []).append(value)
    return unit


def common(text: str) -> str:
    """The part that is alike in all units."""
    return text.partition(COMMON)[2].partition("\n[Install]")[0].strip()


def _unwanted(unit: Unit) -> Iterator[str]:
    for name, values in WANTED.items():
        if unit.get(name) != values:
            yield f"expected {name}={values[0]}, found {unit.get(name)}"
    if "ProcSubset" in unit:
        yield "expected no ProcSubset, which would hide the host's boot id from the store's clock"


def _files(unit: Unit) -> Iterator[str]:
    """The application's settings, and those of this kind of process where it runs one kind alone."""
    kind = unit.get("ExecStart", [""])[0].partition(" ")[2].split(" ")[0]
    own = [] if kind == "run" else [f"-/etc/stepward/%i-{kind}.env"]
    if unit.get("EnvironmentFile") != (wanted := ["/etc/stepward/%i.env", *own]):
        yield f"expected EnvironmentFile={' and '.join(wanted)}, found {unit.get('EnvironmentFile')}"


def _user(unit: Unit) -> Iterator[str]:
    if unit.get("User") != ["stepward"] or unit.get("Group") != ["stepward"]:
        yield f"expected the user and group stepward, found {unit.get('User')} and {unit.get('Group')}"


def _store(unit: Unit) -> Iterator[str]:
    stores = [value for value in unit.get("Environment", []) if value.startswith("STEPWARD_STORE=")]
    if stores != ["STEPWARD_STORE=sqlite:///%S/stepward/%i/stepward.db"]:
        yield f"expected the store in the unit's StateDirectory, found {stores}"


def _command(unit: Unit) -> Iterator[str]:
    for line in unit.get("ExecStart", [""]):
        executable, _, rest = line.partition(" ")
        if executable != EXECUTABLE:
            yield f"expected {EXECUTABLE}, found {executable}"
        yield from filter(None, [misuse_of_stepward(rest.replace("${APP}", "shop:app").split())])


def _stop(unit: Unit) -> Iterator[str]:
    if unit.get("KillMode", ["mixed"]) != ["mixed"] or unit.get("KillSignal", ["SIGTERM"]) != ["SIGTERM"]:
        yield "expected SIGTERM for the main process alone, which drains"
    seconds = durations.seconds(unit.get("TimeoutStopSec", ["0s"])[0])
    if seconds < Settings().drain + MARGIN_SECONDS:
        yield f"expected TimeoutStopSec to leave time to drain, found {seconds} s"


def _restart(unit: Unit) -> Iterator[str]:
    if unit.get("Type") == ["oneshot"]:
        return
    if unit.get("Restart") != ["always"] or not re.fullmatch(r"[1-9]\d*s", unit.get("RestartSec", [""])[0]):
        yield "expected Restart=always after a pause"
    if unit.get("StartLimitIntervalSec") != ["0"] or unit.get("RestartPreventExitStatus") != ["2"]:
        yield "expected to be started again for ever, other than after wrong settings"
