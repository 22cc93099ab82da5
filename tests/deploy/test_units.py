"""The systemd units: verified by systemd itself, and against our own rules."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from stepward.settings import Settings
from tests.deploy import unit_rules
from tests.deploy.files import DEPLOY, ROOT
from tests.programs import program

SYSTEMD = DEPLOY / "systemd"
SERVICES = sorted(SYSTEMD.glob("*.service"))
TIMER = SYSTEMD / "stepward-supervise-once@.timer"
# Of 100: what is left is the network, which Agents and webhooks need.
MOST_EXPOSED = 15
REFUSED = {
    "an unknown word": ("RestartSec=2s", "RestartSecs=2s"),
    "an unknown section": ("[Service]", "[Services]"),
    "no value": ("Type=exec", "Type=running"),
    "no such program": ("/opt/stepward/%i/bin/stepward", "/opt/stepward/%i/bin/nothing"),
}
EXPOSED = {
    "root": ("User=stepward", "User=root"),
    "every capability": ("CapabilityBoundingSet=\n", ""),
    "every call": ("SystemCallFilter=@system-service\nSystemCallFilter=~@privileged @resources\n", ""),
}
RULED = {
    "root": ("User=stepward\n", "", "the user and group stepward"),
    "another home": ("StateDirectory=stepward/%i", "StateDirectory=stepward", "StateDirectory=stepward/%i"),
    "a store elsewhere": ("sqlite:///%S/stepward/%i/", "sqlite:////srv/", "the store in the unit's StateDirectory"),
    "no settings": ("EnvironmentFile=/etc/stepward/%i.env\n", "", "EnvironmentFile"),
    "privileges": ("NoNewPrivileges=yes\n", "", "NoNewPrivileges"),
    "no limit": ("MemoryMax=1G\n", "", "MemoryMax"),
    "a hidden boot id": ("UMask=0077", "UMask=0077\nProcSubset=pid", "boot id"),
    "no time to drain": ("TimeoutStopSec=30s", "TimeoutStopSec=5s", "time to drain"),
    "another signal": ("KillSignal=SIGTERM", "KillSignal=SIGKILL", "SIGTERM"),
    "a signal for all": ("KillMode=mixed", "KillMode=control-group", "main process alone"),
    "no restart": ("Restart=always", "Restart=no", "Restart=always"),
    "no pause": ("RestartSec=2s\n", "", "after a pause"),
    "giving up": ("StartLimitIntervalSec=0\n", "", "for ever"),
    "another program": ("/opt/stepward/%i/bin/stepward", "/usr/bin/stepward", "/opt/stepward/%i/bin/stepward"),
    "no such command": ("stepward run ${APP}", "stepward runs ${APP}", "no command"),
    "no such option": ("stepward run ${APP}", "stepward run --fast ${APP}", "--fast"),
}


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """The units as on a host on which Stepward is installed."""
    for file in [*SERVICES, TIMER]:
        install(file.read_text(encoding="utf-8"), tmp_path / file.name)
    return tmp_path


def install(text: str, file: Path) -> None:
    # systemd looks whether the program is there; here it is this environment's.
    file.write_text(text.replace(unit_rules.EXECUTABLE, str(ROOT / ".venv/bin/stepward")), encoding="utf-8")


def analyze(*arguments: str | Path) -> tuple[int, str]:
    found = subprocess.run(
        [program("systemd-analyze", "Debian's package systemd"), "--no-pager", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    return found.returncode, found.stdout + found.stderr


def verify(file: Path) -> tuple[int, str]:
    # Verify warns of some mistakes and exits with 0: any word is one too many.
    return analyze("verify", "--man=no", "--recursive-errors=no", file)


def worse(old: str, new: str) -> str:
    text = (SYSTEMD / "stepward@.service").read_text(encoding="utf-8")
    assert old in text
    return text.replace(old, new)


@pytest.mark.parametrize("name", [file.name for file in [*SERVICES, TIMER]])
def test_systemd_finds_nothing(installed: Path, name: str) -> None:
    assert verify(installed / name) == (0, "")


@pytest.mark.parametrize(("old", "new"), REFUSED.values(), ids=REFUSED)
def test_systemd_finds(tmp_path: Path, old: str, new: str) -> None:
    install(worse(old, new), tmp_path / "stepward@.service")
    assert verify(tmp_path / "stepward@.service") != (0, "")


@pytest.mark.parametrize("value", ["OnUnitInactiveSec=soon", "OnUnitInactive=30s"])
def test_systemd_finds_a_timer_that_is_not_one(tmp_path: Path, value: str) -> None:
    text = TIMER.read_text(encoding="utf-8").replace("OnUnitInactiveSec=30s", value)
    (tmp_path / TIMER.name).write_text(text, encoding="utf-8")
    assert verify(tmp_path / TIMER.name) != (0, "")


def test_the_timer_has_its_service() -> None:
    assert TIMER.with_suffix(".service") in SERVICES
    assert "Unit=" not in TIMER.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [file.name for file in SERVICES])
def test_little_is_exposed(installed: Path, name: str) -> None:
    code, told = exposure(installed / name)
    assert code == 0, told


@pytest.mark.parametrize(("old", "new"), EXPOSED.values(), ids=EXPOSED)
def test_exposed_units_are_found(tmp_path: Path, old: str, new: str) -> None:
    install(worse(old, new), tmp_path / "stepward@.service")
    code, told = exposure(tmp_path / "stepward@.service")
    assert code != 0, told


def exposure(file: Path) -> tuple[int, str]:
    return analyze("security", "--offline=true", f"--threshold={MOST_EXPOSED}", file)


@pytest.mark.parametrize("file", SERVICES, ids=lambda file: file.name)
def test_our_rules_find_nothing(file: Path) -> None:
    assert unit_rules.complaints(file.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(("old", "new", "words"), RULED.values(), ids=RULED)
def test_our_rules_find(old: str, new: str, words: str) -> None:
    complaints = unit_rules.complaints(worse(old, new))
    assert any(words in complaint for complaint in complaints), complaints


def test_there_is_a_unit_for_every_way_to_run() -> None:
    assert {command(file) for file in SERVICES} == {
        "run ${APP}",
        "scheduler ${APP}",
        "agent ${APP}",
        "submission ${APP}",
        "supervisor",
        "supervisor --once",
    }


def command(file: Path) -> str:
    [line] = unit_rules.read(file.read_text(encoding="utf-8"))["ExecStart"]
    return line.partition(" ")[2]


def test_separate_processes_have_queues_that_all_of_them_see() -> None:
    for file in SERVICES:
        settings = unit_rules.read(file.read_text(encoding="utf-8"))["Environment"]
        assert ("STEPWARD_TRANSPORT=store" in settings) is (file.name != "stepward@.service")


def test_settings_documented_as_equal_are_equal() -> None:
    assert len({unit_rules.common(file.read_text(encoding="utf-8")) for file in SERVICES}) == 1


def test_their_user_can_be_made() -> None:
    sysusers = program("systemd-sysusers", "Debian's package systemd")
    found = subprocess.run(
        [sysusers, "--dry-run", SYSTEMD / "stepward.sysusers"], capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr
    assert re.search(r"^u stepward ", (SYSTEMD / "stepward.sysusers").read_text(encoding="utf-8"), re.MULTILINE)


def test_the_example_s_settings_are_settings(tmp_path: Path) -> None:
    text = (SYSTEMD / "example.env").read_text(encoding="utf-8")
    given = dict(re.findall(r"^(?:# )?([A-Z_]+)=(.*)$", text, re.MULTILINE))
    assert given.pop("APP") == "shop:app"
    (tmp_path / "secret").write_text("whsec_" + "A" * 32, encoding="utf-8")
    given["STEPWARD_WEBHOOK_SECRET"] = f"file:{tmp_path / 'secret'}"
    assert set(Settings.load({}, given, tmp_path).sources.values()) == set(given)
