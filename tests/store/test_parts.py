"""A store is its parts, and each actor is handed its own."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

import stepward
from stepward.scheduler.context import SchedulerContext
from stepward.store.contract import (
    ClientStore,
    HostStore,
    MessageStore,
    OperatorStore,
    SchedulerStore,
    Store,
    SupervisorStore,
)
from stepward.store.sqlite import SqliteStore
from stepward.supervisor import Supervisor
from tests.store.places import sqlite

SOURCE = Path(stepward.__file__).parent
PARTS = {
    "scheduler": SchedulerStore,
    "supervisor": SupervisorStore,
    "client": ClientStore,
    "operators": OperatorStore,
    "host": HostStore,
    "messages": MessageStore,
}
ACTORS = ("scheduler", "supervisor", "agent", "submission")


def verbs(thing: type) -> set[str]:
    return {name for name, _ in inspect.getmembers(thing) if not name.startswith("_")}


def test_a_store_has_no_verbs_beside_those_of_its_parts() -> None:
    assert verbs(Store) == {*PARTS, "now", "open", "close"}


@pytest.mark.parametrize(("actor", "part"), [(SchedulerContext, SchedulerStore), (Supervisor, SupervisorStore)])
def test_an_actor_is_handed_its_part(actor: type, part: type) -> None:
    assert inspect.get_annotations(vars(actor)["__init__"])["store"] == part.__name__


@pytest.mark.parametrize("part", PARTS)
def test_a_part_has_its_own_verbs_alone(tmp_path: Path, part: str) -> None:
    store: SqliteStore = sqlite(tmp_path / "store.db")
    others = {"claim", "decide", "submit", "put_back", "renew", "take"} - verbs(PARTS[part])
    assert len(others) == 5
    given = getattr(store, part)
    assert [verb for verb in others if hasattr(given, verb)] == []


@pytest.mark.parametrize("actor", ACTORS)
def test_no_actor_knows_the_whole_store(actor: str) -> None:
    wholes = [
        file.relative_to(SOURCE).as_posix()
        for file in (SOURCE / actor).rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("stepward.store")
        if any(name.name == "Store" for name in node.names)
    ]
    assert wholes == []
