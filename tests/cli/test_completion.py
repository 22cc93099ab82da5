"""What a shell offers: commands, ids and names of the store, workflows of an application; and Bash's broken words."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import CompletionItem, get_completion_class

from stepward.cli.input.bash_words import joined
from stepward.cli.main import cli

from .conftest import SHOP, Stepward

SCRIPT = """
eval "$(stepward completion bash)"
COMP_WORDS=(stepward submit {target} {begun!r}) COMP_CWORD=3
_stepward_completion stepward
echo "${{COMPREPLY[*]}}"
"""


def offered(monkeypatch: pytest.MonkeyPatch, *words: str) -> list[str]:
    """The words for the last one, as Bash would ask."""
    monkeypatch.setenv("COMP_WORDS", "\n".join(["stepward", *words]))
    monkeypatch.setenv("COMP_CWORD", str(len(words)))
    found = get_completion_class("bash")
    assert found is not None
    lines = found(cli, {}, "stepward", "_STEPWARD_COMPLETE").complete().splitlines()
    return [line.removeprefix("plain,") for line in lines]


@pytest.mark.usefixtures("store")
def test_ids_of_the_store_are_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    assert offered(monkeypatch, "show", "su") == ["suspended"]
    assert set(offered(monkeypatch, "resume", "waiting", "pend")) == {"pending"}
    assert offered(monkeypatch, "agents", "suspend", "") == ["payments"]


def test_workflows_of_the_application_are_offered(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place, _, attribute = SHOP.rpartition(":")
    assert offered(monkeypatch, "submit", place, ":", attribute, "appr") == ["approval"]
    assert offered(monkeypatch, "submit", SHOP, "no") == []


def test_nothing_is_offered_and_nothing_said_where_there_is_no_store(
    empty: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert offered(monkeypatch, "show", "") == []
    assert offered(monkeypatch, "submit", "missing:app", "") == []
    assert capfd.readouterr() == ("", "")
    assert list(empty.iterdir()) == []


def test_words_that_bash_broke_at_colons_are_whole_again() -> None:
    assert joined(["submit", "shop.py", ":", "app", "ful"]) == ["submit", "shop.py:app", "ful"]
    assert joined(["--store", "sqlite", ":", "///a.db", ""]) == ["--store", "sqlite:///a.db", ""]
    assert joined(["show", "order", ":"]) == ["show", "order:"]
    assert joined([""]) == [""]


def test_bash_inserts_only_what_follows_the_last_colon(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert offered(monkeypatch, "submit", "a", ":", "b") == []
    found = get_completion_class("bash")
    assert found is not None
    monkeypatch.setenv("COMP_WORDS", "\n".join(["stepward", "show", "order", ":", "1"]))
    monkeypatch.setenv("COMP_CWORD", "4")
    complete = found(cli, {}, "stepward", "_STEPWARD_COMPLETE")
    assert complete.get_completion_args() == (["show"], "order:1")
    assert complete.format_completion(CompletionItem("order:12")) == "plain,12"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_its_script(stepward: Stepward, shell: str) -> None:
    result = stepward("completion", shell)
    assert result.exit_code == 0
    assert f"_STEPWARD_COMPLETE={shell}_complete" in result.stdout


@pytest.mark.servers
def test_a_real_bash_completes(store: Path) -> None:
    """The script as users install it, in the program that reads it."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    target = SHOP.replace(":", " : ")
    script = SCRIPT.format(target=target, begun="appr").replace("COMP_CWORD=3", "COMP_CWORD=5")
    found = subprocess.run(
        ["bash", "--norc", "-c", script], env={**os.environ, "PATH": path}, capture_output=True, text=True, check=True
    )
    assert (found.stdout.strip(), found.stderr) == ("approval", "")
