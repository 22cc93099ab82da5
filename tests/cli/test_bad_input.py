"""Whatever is written wrongly: one line, the right exit code, nothing changed."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

import apsw
import pytest

from stepward import Client

from .conftest import SHOP, Stepward, one_line

URL = "sqlite:///stepward.db"
NESTED = "[" * 200 + "]" * 200
VERY_NESTED = "[" * 50_000 + "]" * 50_000

SUBMISSIONS = [
    (["nope", "1"], 2, "known: approval, failing, good"),
    (["good", "word"], 2, "'\"word\"'"),
    (["good", "NaN"], 2, "JSON has no such number"),
    (["good", "[NaN]"], 2, "JSON has no such number"),
    (["good", "1e999"], 2, "argument 1: expected JSON"),
    (["good", '"text"'], 2, "arguments of good"),
    (["good"], 2, "arguments of good"),
    (["good", "1", '"a"', "3"], 2, "arguments of good"),
    (["good", "1", NESTED], 2, "nested"),
    (["good", VERY_NESTED], 2, "nested"),
    (["good", "--nope"], 2, "no such option"),
    (["good", "1", "--id", "a b"], 2, "id: expected 1 to 200"),
    (["good", "1", "--id", "x" * 201], 2, "id: expected 1 to 200"),
    (["good", "2", "--id", "good"], 1, "choose another id"),
    (["good", "1", "--priority", "10"], 2, "priority: expected 0"),
    (["good", "1", "--priority", "-1"], 2, "priority: expected 0"),
    (["good", "1", "--priority", "x"], 2, "stepward submit --help"),
    (["good", "1", "--fairness-key", ""], 2, "fairness_key: expected 1 to 200"),
    (["good", "1", "--complete-by", "2020-01-01T00:00:00Z"], 2, "an instant to come"),
    (["good", "1", "--complete-by", "9999-01-01T00:00:00Z"], 2, "3650 days"),
    (["good", "1", "--complete-by", "2030-01-01T00:00:00"], 2, "time zone"),
    (["good", "1", "--complete-by", "2030-13-99"], 2, "expected 15m or"),
    (["good", "1", "--complete-by", "4000d"], 2, "3650 days"),
    (["good", "1", "--complete-by", "soon"], 2, "complete_by: expected"),
    (["good", "1", "--delay", "-3s"], 2, "delay: expected"),
    (["good", "1", "--delay", "5x"], 2, "delay: expected"),
    (["good", "1", "--label", "customer"], 2, "NAME=VALUE"),
    (["good", "1", "--label", f"customer={'x' * 201}"], 2, "labels: expected"),
]


@pytest.mark.parametrize("target", [SHOP, URL], ids=["app", "store"])
@pytest.mark.parametrize(("args", "code", "says"), SUBMISSIONS)
def test_refused_submission(
    store: Path, stepward: Stepward, target: str, args: list[str], code: int, says: str
) -> None:
    before = stepward("tasks", "--json").stdout
    result = stepward("submit", target, *args)
    assert says in one_line(result)
    assert result.exit_code == code
    assert stepward("tasks", "--json").stdout == before


def test_bare_numbers_are_seconds(store: Path, stepward: Stepward) -> None:
    result = stepward("submit", SHOP, "good", "1", "--id", "later", "--delay", "5", "--complete-by", "90")
    assert (result.exit_code, result.stdout) == (0, "later\n")
    assert stepward("purge", "--older-than", "90").exit_code == 0


def test_over_the_payload_limit(store: Path, stepward: Stepward) -> None:
    note = json.dumps("x" * 2000)
    result = stepward("submit", URL, "good", "1", note, STEPWARD_PAYLOAD_BYTES="2000")
    assert result.exit_code == 2
    assert "expected at most 2,000 bytes" in one_line(result)


def test_bytes_that_are_not_text(store: Path, stepward: Stepward) -> None:
    result = stepward("submit", URL, "good", os.fsdecode(b'"\xff"'))
    assert result.exit_code == 2
    assert "expected UTF-8" in one_line(result)


OPERATORS = [
    (["show", "nope"], 1, "task 'nope'"),
    (["steps", "nope"], 1, "task 'nope'"),
    (["audit", "nope"], 1, "task 'nope'"),
    (["show"], 2, "Missing argument 'ID'"),
    (["show", "a\x1b[1mb"], 1, "a\ufffd[1mb"),
    (["cancel", "nope"], 1, "task nope"),
    (["cancel"], 2, "Missing argument"),
    (["resubmit", "good"], 1, "found it processed"),
    (["resume", "waiting"], 1, "expected a task that is suspended"),
    (["resubmit", "failed", "--step", "nope/1"], 1, "expected a step nope/1"),
    (["resubmit", "failed", "--input", "5"], 2, "array of the step's arguments"),
    (["resubmit", "failed", "--input", "x"], 2, "--input: expected JSON"),
    (["resubmit", "failed", "other", "--input", "[1]"], 2, "one task at a time"),
    (["mark-done", "failed", "nope/1", "1"], 1, "expected a step nope/1"),
    (["mark-done", "failed", "payments.decline/1", "word"], 2, "'\"word\"'"),
    (["signal", "good", "approved", "1"], 1, "found it processed"),
    (["signal", "waiting", "bad name", "1"], 2, "signal: expected a name"),
    (["signal", "waiting", "approved", "yes"], 2, "'\"yes\"'"),
    (["alerts", "acknowledge", "99"], 1, "alert 99: expected an open alert"),
    (["alerts", "acknowledge", "0"], 2, "not in the range"),
    (["alerts", "acknowledge", "9" * 30], 2, "not in the range"),
    (["tasks", "--state", "nope"], 2, "'nope' is not one of"),
    (["tasks", "--label", "nope"], 2, "NAME=VALUE"),
    (["tasks", "--limit", "0"], 2, "not in the range"),
    (["tasks", "--nope"], 2, "stepward tasks --help"),
    (["nope"], 2, "No such command 'nope'"),
    (["purge", "--older-than", "often"], 2, "--older-than: expected"),
    (["purge", "--older-than", "-1d"], 2, "--older-than: expected"),
]


@pytest.mark.parametrize(("args", "code", "says"), OPERATORS)
def test_refused_operator(store: Path, stepward: Stepward, args: list[str], code: int, says: str) -> None:
    result = stepward(*args)
    assert says in one_line(result)
    assert result.exit_code == code


APPS = [
    ("shop", "expected module:attribute or path.py:attribute"),
    (":app", "expected module:attribute or path.py:attribute"),
    ("nowhere.at.all:app", "expected the module nowhere.at.all"),
    ("nowhere.py:app", "expected the file nowhere.py"),
    (SHOP.replace(":app", ":nope"), "shop.py:app?"),
    (SHOP.replace(":app", ":not_an_app"), "of type int"),
    ("broken.py:app", "ZeroDivisionError: division by zero (broken.py, line 2)"),
    ("wrong.py:app", "expected to import it, found SyntaxError"),
    ("leaving.py:app", "SystemExit: 3"),
    ("importing.py:app", "No module named 'nowhere'"),
    ("settings.py:app", "lease"),
    ("strange.py:app", "found Strange: Strange (strange.py, line 4)"),
    ("bare.py:app", "expected what @workflow declares, found bare; put @workflow above it"),
]


@pytest.mark.parametrize(("target", "says"), APPS)
@pytest.mark.parametrize("command", ["run", "check", "submit"])
def test_app_that_cannot_be_imported(empty: Path, stepward: Stepward, command: str, target: str, says: str) -> None:
    Path("broken.py").write_text("x = 1\nx / 0\n")
    Path("wrong.py").write_text("x = = 1\n")
    Path("leaving.py").write_text("import sys\nsys.exit(3)\n")
    Path("importing.py").write_text("import nowhere\n")
    Path("settings.py").write_text("from stepward import App\napp = App('x', lease='never')\n")
    Path("strange.py").write_text(
        "class Strange(BaseException):\n    def __str__(self):\n        raise ValueError\nraise Strange\n"
    )
    Path("bare.py").write_text("from stepward import App\nasync def bare(): ...\napp = App('x', workflows=[bare])\n")
    result = stepward(command, target, *(["good"] if command == "submit" else []))
    assert says in one_line(result)
    assert result.exit_code == 2


def test_a_module_of_the_current_folder_is_found(empty: Path, stepward: Stepward) -> None:
    Path("found_here.py").write_text("from stepward import App\nclass Here:\n    app = App('here')\n")
    result = stepward("submit", "found_here:Here.app", "nope")
    assert "expected a registered one" in one_line(result)


STORES = [
    ("sqlite:///none.db", 3, "no such file"),
    ("sqlite:////", 2, "no file name"),
    ("sqlite:///garbage.db", 2, "expected a SQLite database"),
    ("sqlite:///other.db", 2, "expected a Stepward store, found another database"),
    ("sqlite:///empty.db", 3, "wait until its application has made it"),
    ("sqlite:///begun.db", 3, "wait until its application has made it"),
    ("sqlite:///newer.db", 2, "upgrade this program"),
    ("sqlite:///folder", 3, "store folder"),
    ("mysql://user:secret@host/x", 2, "expected sqlite:///PATH"),
    ("nowhere", 2, "expected sqlite:///PATH"),
]


@pytest.mark.parametrize(("url", "code", "says"), STORES)
def test_store_that_is_none(store: Path, stepward: Stepward, url: str, code: int, says: str) -> None:
    Path("garbage.db").write_bytes(b"no database at all" * 100)
    Path("empty.db").touch()
    _execute("begun.db", "pragma journal_mode = wal")
    Path("folder").mkdir()
    _execute("other.db", "create table t (x)")
    store.rename("newer.db")
    _execute("newer.db", "update stepward_meta set value = 999 where key = 'schema_version'")
    for result in (stepward("tasks", "--store", url), stepward("tasks", STEPWARD_STORE=url)):
        assert says in one_line(result)
        assert result.exit_code == code
        assert "secret" not in result.stderr
    assert not Path("none.db").exists()


def test_store_of_another_app(store: Path, stepward: Stepward) -> None:
    Path("other.py").write_text("from stepward import App\napp = App('other')\n")
    result = stepward("run", "other.py:app")
    assert "expected the app 'other', found the store of 'shop'" in one_line(result)
    assert result.exit_code == 2


def test_store_that_may_only_be_read(filled: Path, stepward: Stepward, monkeypatch: pytest.MonkeyPatch) -> None:
    # Root may write everywhere, so that the test runs as another user for a while. That one may not enter this tree:
    # settings are looked for elsewhere, and what the command imports is imported before.
    stepward("cancel", "nobody", "--store", f"sqlite:///{filled}")
    with tempfile.TemporaryDirectory() as folder:
        monkeypatch.chdir(folder)
        path = Path(folder, "stepward.db")
        path.write_bytes(filled.read_bytes())
        path.chmod(0o444)
        Path(folder).chmod(0o555)
        user = os.geteuid()
        os.seteuid(65534 if user == 0 else user)
        try:
            result = stepward("cancel", "waiting", "--store", f"sqlite:///{path}")
        finally:
            os.seteuid(user)
            Path(folder).chmod(0o755)
            monkeypatch.undo()
    assert "expected" in one_line(result)
    assert result.exit_code == 3


def test_settings_that_are_wrong(store: Path, stepward: Stepward) -> None:
    Path("stepward.toml").write_text("leese = 3\n")
    result = stepward("tasks")
    assert "did you mean 'lease'?" in one_line(result)
    assert result.exit_code == 2


def test_a_refused_id_does_not_stop_the_others(store: Path, stepward: Stepward) -> None:
    result = stepward("cancel", "nope", "pending", "good", "suspended")
    assert result.stdout.splitlines() == ["pending: cancelled", "suspended: undoing"]
    assert len(result.stderr.splitlines()) == 2
    assert result.exit_code == 1


def test_a_bug_is_one_line_and_a_traceback_only_on_request(
    store: Path, stepward: Stepward, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object, **__: object) -> None:
        raise KeyError("surprise\n\x1b[1m")

    monkeypatch.setattr(Client, "tasks", broken)
    result = stepward("tasks")
    assert "this is a bug: KeyError" in one_line(result)
    assert "STEPWARD_DEBUG=1" in result.stderr
    assert result.exit_code == 1
    assert "Traceback" in stepward("tasks", STEPWARD_DEBUG="1").stderr


def _execute(path: str, sql: str) -> None:
    connection = apsw.Connection(path)
    connection.execute(sql)
    connection.close()


def test_two_words_on_one_doubt_are_refused(stepward: Stepward, store: Path) -> None:
    done = stepward("resubmit", "any", "--undo-first", "--did-not-happen")
    assert done.exit_code == 2
    assert "expected --undo-first or --did-not-happen, found both; choose one" in done.stderr
