"""The commands of docs/kubernetes.md, as far as they go without a cluster."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from servers.certificates import Authority
from tests.deploy.files import ROOT, misuse_of_stepward
from tests.deploy.kubernetes import chart

COMMANDS = [
    line.removeprefix("$ ")
    for block in re.findall(r"^```console\n(.*?)^```$", chart.PAGE, re.MULTILINE | re.DOTALL)
    for line in block.splitlines()
]
HELM = [line for line in COMMANDS if line.startswith("helm ")]
MADE = [line for line in COMMANDS if line.startswith("kubectl create")]
WITHIN = [line for line in COMMANDS if " -- stepward " in line]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of the page's reader."""
    values = chart.printed_values()
    for name, text in (("shop.yaml", values[0]), ("console.yaml", values[1]), ("store.txt", "postgresql://a@b/c")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    certificate, key = Authority(tmp_path).sign("shop.example")
    certificate.rename(tmp_path / "tls.crt")
    key.rename(tmp_path / "tls.key")
    return tmp_path


def test_every_command_is_of_a_kind_that_is_checked() -> None:
    others = {line.split()[0:2][1] for line in COMMANDS if line not in [*HELM, *MADE, *WITHIN]}
    assert others == {"build", "push", "label", "get", "delete"}
    assert len(HELM) == 2
    assert len(MADE) == 3


@pytest.mark.parametrize("line", HELM)
def test_helm_takes_its_values(line: str, folder: Path) -> None:
    words = shlex.split(line)[4:]
    files = [each for each in words if each in ("--values", "shop.yaml", "console.yaml")]
    options = [str(folder / each) if each.endswith(".yaml") else each for each in files]
    found = chart.rendered(*options)
    assert found.code == 0, found.printed


@pytest.mark.parametrize("line", MADE)
def test_kubectl_makes_what_the_page_makes(line: str, folder: Path) -> None:
    tool = chart.tool("kubectl")
    command = [tool, *shlex.split(line)[1:], "--dry-run=client", "--output", "yaml"]
    found = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    assert chart.misfits(found.stdout, "1.37") == []


@pytest.mark.parametrize("line", WITHIN)
def test_stepward_has_the_commands(line: str) -> None:
    words = shlex.split(line)
    assert misuse_of_stepward(words[words.index("stepward") + 1 :]) is None
    assert "deploy/shop-scheduler" in words


def test_no_command_holds_a_password() -> None:
    assert [line for line in COMMANDS if re.search(r"://[^@\s]*:[^@\s]*@|PASSWORD|--from-literal", line)] == []


def test_the_files_it_names_are_there() -> None:
    named = set(re.findall(r"(?<![\w/])(?:deploy|docs|examples)/[\w./@-]*\w", chart.PAGE)) - {"deploy/shop-scheduler"}
    assert [name for name in named if not (ROOT / name).exists()] == []
