"""What the terminal is shown: fits, is not wrapped, and does nothing that a payload wants."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console

from stepward.cli.output.table import Cell, Column, table
from stepward.cli.output.text_width import cut, cut_middle
from stepward.views.printable import clean
from stepward.views.times import instant, relative, span

from .conftest import LONG_ID, Stepward

LISTINGS = [
    ["tasks"],
    ["tasks", "--state", "error"],
    ["show", "failed"],
    ["show", LONG_ID],
    ["show", LONG_ID.replace("order", "fails")],
    ["show", "waiting"],
    ["show", "suspended"],
    ["show", "undone"],
    ["steps", "failed"],
    ["steps", "waiting"],
    ["alerts"],
    ["instances"],
    ["agents"],
    ["audit"],
    ["audit", "suspended"],
    ["check"],
    ["version"],
    ["migrate"],
]
WRAPPED = re.compile(r"^\s{12,}\S", re.MULTILINE)


@pytest.mark.parametrize("columns", ["80", "60", "132"])
@pytest.mark.parametrize("args", LISTINGS, ids=" ".join)
def test_no_line_is_too_long(store: Path, stepward: Stepward, args: list[str], columns: str) -> None:
    result = stepward(*args, COLUMNS=columns)
    assert result.exit_code == (1 if args == ["check"] else 0), result.stderr
    assert max(cell_len(line) for line in result.stdout.splitlines()) <= int(columns)


@pytest.mark.parametrize("args", [*LISTINGS, ["show", "failed", "--json"], ["tasks", "--json"]], ids=" ".join)
def test_nothing_reaches_the_terminal_as_it_is(store: Path, stepward: Stepward, args: list[str]) -> None:
    text = stepward(*args).stdout
    assert text.replace("\n", "").isprintable()


def test_a_pipe_gets_whole_rows_and_no_colours(
    store: Path, stepward: Stepward, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    lines = stepward("tasks").stdout.splitlines()
    assert LONG_ID in " ".join(lines)
    assert lines[0].split() == ["ID", "WORKFLOW", "STATE", "FAILURES", "AGE", "WAITS", "FOR", "/", "ERROR"]
    assert "…" not in "".join(lines)
    assert "\x1b" not in "".join(lines)


@pytest.mark.parametrize("args", LISTINGS, ids=" ".join)
def test_no_table_in_a_pipe_is_cut(store: Path, stepward: Stepward, args: list[str]) -> None:
    rows = [line for line in stepward(*args).stdout.splitlines() if not line.startswith(("│", "╭", "  "))]
    assert "…" not in "".join(rows)


def test_a_row_for_each_task_and_none_wrapped(store: Path, stepward: Stepward) -> None:
    lines = stepward("tasks", COLUMNS="80").stdout.splitlines()
    assert lines[0].split() == ["ID", "WORKFLOW", "STATE", "AGE", "WAITS", "FOR", "/", "ERROR"]
    assert len(lines) == 2 + 8
    assert not WRAPPED.search("\n".join(lines))
    states = [re.search(r"[○●◌=←✓×✗] (\w+)", line) for line in lines[2:]]
    assert [state and state[1] for state in states] == [
        "pending",
        "suspended",
        "waiting",
        "undone",
        "error",
        "error",
        "processed",
        "processed",
    ]


def test_long_ids_are_whole_where_one_task_is_shown(store: Path, stepward: Stepward) -> None:
    assert LONG_ID not in stepward("tasks", COLUMNS="80").stdout
    assert LONG_ID in stepward("tasks", COLUMNS="400").stdout
    shown = stepward("show", LONG_ID).stdout
    assert LONG_ID in "".join(re.findall(r"│(?: id)? +(\S+) +│", shown))


def test_show_says_what_to_do_next(store: Path, stepward: Stepward) -> None:
    failed = stepward("show", "failed", "--store", "sqlite:///stepward.db").stdout
    assert "  stepward resubmit failed --store sqlite:///stepward.db\n" in failed
    assert "stepward mark-done failed payments.decline/1 JSON --store" in failed
    assert "stepward signal waiting approved JSON" in stepward("show", "waiting").stdout
    assert "stepward resume suspended" in stepward("show", "suspended").stdout
    assert "What to do next" not in stepward("show", "good").stdout


def test_a_command_that_is_folded_is_joined_by_a_shell(store: Path, stepward: Stepward) -> None:
    id = LONG_ID.replace("order", "fails")
    shown = stepward("show", id).stdout
    assert f"\n  stepward resubmit {id}\n" in shown.replace("\\\n", "")


def test_show_prints_the_whole_error(store: Path, stepward: Stepward) -> None:
    told = stepward("show", "failed", COLUMNS="300").stdout
    assert "StepFailed: refused by \\x1b[31mthe bank\\x1b[0m\\r\\n\\x1b]0;title\\x07 of 日本" in told
    assert '"code": "declined"' in told
    assert "customer=42" in told


def test_nothing_to_list(store: Path, stepward: Stepward) -> None:
    assert stepward("tasks", "--workflow", "nope").stdout == "No such tasks.\n"
    assert stepward("tasks", "--workflow", "nope", "--json").stdout == "[]\n"


def test_a_table_keeps_to_its_room() -> None:
    columns = (
        Column(name="ID", least=5, middle=True),
        Column(name="SPARE", spare=True),
        Column(name="N", right=True),
        Column(name="NOTE", least=6),
    )
    rows = [
        [Cell("0123456789ABCDEF"), Cell("0"), Cell("5"), Cell("日本語日本語日本語")],
        [Cell("short"), Cell("–"), Cell("12"), Cell("e\u0301\x1b\ufe0f🙈 and more of it")],
    ]
    assert _drawn(columns, rows, 30) == [
        "ID             N  NOTE",
        "─" * 30,
        "012345…BCDEF   5  日本語日本…",
        "short         12  e\u0301\\x1b🙈 and…",
    ]
    assert all(cell_len(line) <= 30 for line in _drawn(columns, rows, 30))
    assert "SPARE" not in _drawn(columns, rows, 30)[0]
    assert "SPARE" in _drawn(columns, rows, 80)[0]


def test_columns_that_may_go_do_so_in_turn_where_even_cutting_does_not_help() -> None:
    columns = (
        Column(name="ID", least=5),
        Column(name="NUMBER", right=True),
        Column(name="LAST", right=True, drops=1),
        Column(name="FIRST", least=5, drops=2),
    )
    rows = [[Cell("0123456789"), Cell("1"), Cell("2"), Cell("one, two")]]
    shown = {room: _drawn(columns, rows, room)[0].split() for room in (40, 26, 25, 19, 18, 13)}
    assert shown[40] == shown[26] == ["ID", "NUMBER", "LAST", "FIRST"]
    assert shown[25] == shown[19] == ["ID", "NUMBER", "LAST"]
    assert shown[18] == shown[13] == ["ID", "NUMBER"]


def _drawn(columns: tuple[Column, ...], rows: list[list[Cell]], room: int) -> list[str]:
    console = Console(width=room, color_system=None)
    with console.capture() as captured:
        console.print(table(columns, rows, room))
    return [line.rstrip() for line in captured.get().splitlines()]


@pytest.mark.parametrize(
    ("text", "width", "end", "middle"),
    [
        ("abcdef", 6, "abcdef", "abcdef"),
        ("abcdefg", 6, "abcde…", "abc…fg"),
        ("日本語日本語", 6, "日本…", "日…語"),
        ("abc", 1, "…", "…"),
        ("abc", 0, "", ""),
    ],
)
def test_cutting(text: str, width: int, end: str, middle: str) -> None:
    assert cut(text, width) == end
    assert cut_middle(text, width) == middle
    assert cell_len(cut_middle(text, width)) <= width


def test_cleaning() -> None:
    assert clean("plain 日本 é") == "plain 日本 é"
    assert clean("\x1b]0;x\x07\n\x9b\u202e\u200d\ud800") == "\\x1b]0;x\\x07\\n\\x9b\\u202e\\u200d\\ud800"
    assert clean("❤\ufe0f") == "❤"


def test_times() -> None:
    assert [span(s) for s in (-5, 0.4, 59.9, 60, 3600, 86400, 400 * 86400)] == [
        "0s",
        "0s",
        "59s",
        "1m",
        "1h",
        "1d",
        "1y",
    ]
    assert relative(100, 280) == "3m ago"
    assert relative(280, 100) == "in 3m"
    assert relative(None, 100) == "–"
    assert instant(0.1234) == "1970-01-01T00:00:00.123Z"
