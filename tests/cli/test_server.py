"""What `check` says of the PostgreSQL server behind a store."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from stepward.cli.check_findings.postgres_server import problems, warnings
from stepward.model.records import Instance, Role
from stepward.settings import Settings
from stepward.store.contract import Bloat, Hold, Server, ServerHost, Standby

SYNC = Standby(name="one", state="streaming", sync="sync", behind=0)
QUORUM = replace(SYNC, sync="quorum")
ASYNC = replace(SYNC, sync="async")
FIRST = ServerHost(host="a:5432", role="primary", timeline=1)
SECOND = ServerHost(host="b:5432", role="standby")
SOUND = Server(
    version="18.4",
    database="shop",
    schema="stepward_shop",
    user="ada",
    hosts=[FIRST, SECOND],
    pooled=False,
    bounded=False,
    clock_ahead=0.01,
    connections=10,
    connections_most=97,
    connections_ours=5,
    waiting=0,
    synchronous_standby_names="*",
    synchronous_commit="on",
    fsync=True,
    full_page_writes=True,
    standbys=[SYNC],
)


def settings(standbys: int) -> Settings:
    return Settings(synchronous_standbys=standbys)


def found(expected: int, **fields: Any) -> list[str]:
    return problems(replace(SOUND, **fields), settings(expected))


def hints(expected: int = 0, processes: int = 1, **fields: Any) -> list[str]:
    live = [Instance(id=str(pid), role=Role.AGENT, host="h", pid=pid, serves=[]) for pid in range(processes)]
    return warnings(replace(SOUND, **fields), settings(expected), live)


@pytest.mark.parametrize("standbys", [[SYNC], [QUORUM, ASYNC]])
def test_nothing_is_wrong_with_as_many_standbys_as_are_expected(standbys: list[Standby]) -> None:
    assert found(1, standbys=standbys) == hints(1, standbys=standbys) == []


@pytest.mark.parametrize("standbys", [[], [ASYNC], [replace(SYNC, state="catchup")]])
def test_too_few_standbys_are_a_problem(standbys: list[Standby]) -> None:
    (line,) = found(1, standbys=standbys)
    assert f"expected 1 that commits wait for, found 0 of {len(standbys)} attached: commits" in line
    assert found(0, standbys=standbys) == []


def test_commits_without_a_standby_are_a_finding_with_the_reason() -> None:
    (line,) = found(1, standbys=[ASYNC], synchronous_standby_names="")
    assert "as synchronous_standby_names is empty" in line


def test_standbys_that_may_not_be_seen_are_a_problem_with_its_remedy() -> None:
    (line,) = found(1, standbys=None)
    assert line.endswith("grant pg_monitor to ada")
    assert found(0, standbys=None) == []


@pytest.mark.parametrize("commit", ["off", "local"])
def test_commits_that_wait_for_no_standby_are_a_problem_where_some_are_expected(commit: str) -> None:
    (line,) = found(1, synchronous_commit=commit)
    assert f"expected synchronous_commit on, found {commit}" in line
    assert found(0, synchronous_commit=commit) == []


def test_commits_that_hang_are_a_problem() -> None:
    (line,) = found(0, waiting=3)
    assert "found 3 waiting for more than a second" in line


def test_the_older_of_two_primaries_is_to_be_stopped() -> None:
    (line,) = found(0, hosts=[ServerHost(host="b:5432", role="primary", timeline=2), FIRST])
    assert line.endswith("a:5432 on timeline 1 and b:5432 on timeline 2; stop a:5432, which has been replaced")


def test_settings_that_may_lose_data_in_a_crash_are_warnings() -> None:
    (line,) = hints(fsync=False, full_page_writes=False)
    assert "found fsync and full_page_writes off" in line
    (line,) = hints(synchronous_commit="off")
    assert "the commits acknowledged last are lost in a crash" in line


def test_an_address_of_one_host_is_a_warning_where_standbys_are_expected() -> None:
    (line,) = hints(1, hosts=[FIRST])
    assert "no process finds the new primary" in line
    assert hints(0, hosts=[FIRST]) == []


def test_more_processes_than_there_is_room_for_are_a_warning() -> None:
    (line,) = hints(processes=7)
    assert "expected room for 105 connections (7 processes, 15 each at most), found room for 92" in line
    assert hints(processes=6) == []
    assert hints(processes=7, pooled=True, bounded=True) == []


def test_a_pooler_without_bounds_is_a_warning() -> None:
    (line,) = hints(pooled=True)
    assert line.startswith("pooler: expected statement_timeout and idle_in_transaction_session_timeout for ada")
    assert hints(pooled=True, bounded=True) == []


@pytest.mark.parametrize("ahead", [-1.1, 300.0])
def test_a_clock_that_is_off_is_a_warning(ahead: float) -> None:
    (line,) = hints(clock_ahead=ahead)
    assert f"found it {ahead:+.1f} s off" in line


TRANSACTION = Hold(kind="transaction", name="7", by="pg_dump, user ada", seconds=3_725.4)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"holds": [TRANSACTION]}, "found that of process 7 (pg_dump, user ada) open for 1h 2m: deleted rows stay"),
        ({"holds": [TRANSACTION]}, "select pg_terminate_backend(7)"),
        ({"holds": [replace(TRANSACTION, seconds=None)]}, "open for long: "),
        ({"holds": [replace(TRANSACTION, kind="prepared", name="x", by="user ada")]}, "rollback prepared 'x'"),
        (
            {"holds": [Hold(kind="slot", name="old", by="physical", seconds=None, kept=16_777_216)]},
            "found none of the physical slot old: the server keeps 16,777,216 B of log",
        ),
        (
            {"bloat": [Bloat(table="message", dead=200_000, live=5)]},
            "stepward_shop.message, found 200,000 dead rows beside 5 live ones",
        ),
        ({"autovacuum": False}, "found one of them off: deleted rows stay; turn it on"),
    ],
)
def test_transactions_that_keep_dead_rows_are_warnings(fields: dict[str, Any], expected: str) -> None:
    (line,) = hints(**fields)
    assert expected in line
    assert found(0, **fields) == []
