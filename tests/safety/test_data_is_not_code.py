"""Payloads, filters and names from outside are data: nothing evaluates, imports or revives what they say."""

from __future__ import annotations

import json
import marshal
import pickle
from pathlib import Path

import httpx
import pytest

from stepward import Client
from stepward.errors import InvalidFilter, InvalidPayload
from stepward.payload import decode, encode
from stepward.store.search.parser import parsed
from tests.http.conftest import app, client, local  # noqa: F401  fixtures

from .code_words import findings

SOURCE = Path(__file__).parents[2] / "src" / "stepward"
ALLOWED = {
    # The application that the operator names on the command line, and drivers out of a table.
    "cli/input/targets.py": {"import_module"},
    "store/drivers/connection_kinds.py": {"import_module"},
    # Texts out of the program's own tables.
    "cli/commands/system/audit_verification.py": {"format"},
    "store/postgres/engine/query_catalogue.py": {"format_map"},
}
"""Calls that are allowed, by file."""
EXPRESSIONS = (
    "__import__('os').system('touch {file}')",
    "().__class__.__base__.__subclasses__()",
    "open('{file}','w')",
    "process.mainModule.require('child_process').execSync('touch {file}')",
    "T(java.lang.Runtime).getRuntime().exec('touch {file}')",
    "$(touch {file})",
    "`touch {file}`",
    "self.__init__.__globals__.__builtins__.exec('x')",
    "constructor.constructor('return process')()",
    "7*7",
)
WRAPPED = (
    "{}",
    "{{{{ {} }}}}",
    "${{{}}}",
    "#{{{}}}",
    "<%= {} %>",
    "{{% {} %}}",
    "{{0.{}}}",
    "%({})s",
    "f'{{{}}}'",
    "={}",
)
"""How engines of templates, shells and spreadsheets mark what they evaluate."""
ESCAPES = [way.format(text) for way in WRAPPED for text in EXPRESSIONS]
REVIVED = (
    {"py/object": "os.system", "py/reduce": [{"py/function": "os.system"}, {"py/tuple": ["id"]}]},
    {"__reduce__": ["os.system", ["id"]]},
    {"__class__": "subprocess.Popen", "args": ["id"]},
    {"lc": 1, "type": "constructor", "id": ["os", "system"], "kwargs": {"command": "id"}},
    {"$type": "System.Diagnostics.Process", "StartInfo": {"FileName": "id"}},
    {"@type": "com.sun.rowset.JdbcRowSetImpl", "autoCommit": True},
    {"__type__": "pickle", "data": "gASVDQAAAAAAAACMCG9zLnN5c3RlbZSTLg=="},
    "!!python/object/apply:os.system ['id']",
    "gASVDQAAAAAAAACMCG9zLnN5c3RlbZSTLg==",
)
"""Objects that readers of other serialisers would revive."""


def test_no_module_evaluates_imports_or_revives_what_it_is_given() -> None:
    found = {}
    for path in SOURCE.rglob("*.py"):
        name = path.relative_to(SOURCE).as_posix()
        others = [each for each in findings(path.read_text("utf-8")) if each.split()[0] not in ALLOWED.get(name, ())]
        if others:
            found[name] = others
    assert found == {}


@pytest.mark.parametrize(
    "source",
    [
        "eval(text)",
        "exec(text)",
        "import pickle",
        "from yaml import load",
        "import marshal as m",
        "importlib.import_module(name)",
        "pydoc.locate(name)",
        "text.format(task=task)",
        "environment.from_string(text)",
        "template.format_map(values)",
    ],
)
def test_such_code_would_be_found(source: str) -> None:
    assert list(findings(source))


@pytest.mark.parametrize("value", REVIVED, ids=range(len(REVIVED)))
def test_a_payload_that_names_a_class_or_a_function_stays_plain_data(value: object) -> None:
    data = encode(value, "input")
    assert decode(data, "input") == json.loads(data) == value


@pytest.mark.parametrize("data", [pickle.dumps({"a": 1}), marshal.dumps({"a": 1}), b"!!python/object:os.system {}"])
def test_bytes_of_other_serialisers_are_refused(data: bytes) -> None:
    with pytest.raises(InvalidPayload):
        decode(data, "input")


def test_expressions_in_a_filter_are_refused_or_compared_as_texts(tmp_path: Path) -> None:
    assert len(ESCAPES) == 100
    for text in ESCAPES:
        escape = text.replace("{file}", str(tmp_path / "made"))
        with pytest.raises(InvalidFilter):
            parsed(escape, 0.0)
        quoted = escape.replace("'", "''")
        assert parsed(f"attr.x = '{quoted}'", 0.0).value == escape  # type: ignore[union-attr]
    assert list(tmp_path.iterdir()) == []


async def test_expressions_submitted_over_the_api_reach_the_workflow_as_texts(
    client: Client,  # noqa: F811
    local: httpx.AsyncClient,  # noqa: F811
    tmp_path: Path,
) -> None:
    before = set(tmp_path.iterdir())
    for number, text in enumerate([*ESCAPES[::10], *(json.dumps(each) for each in REVIVED)]):
        escape = text.replace("{file}", str(tmp_path / "made"))
        body = {"workflow": "greet", "arguments": [escape], "id": f"e-{number}", "labels": {"a": escape[:200]}}
        assert (await local.post("/api/v1/tasks", json=body)).status_code == 202
        assert await client.task(f"e-{number}").result(timeout=30) == f"hello {escape}"
    assert set(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    "name",
    ["os.system", "builtins.eval", "subprocess:Popen", "tests.http.conftest:greet", "greet.fn", "__main__.greet"],
)
async def test_a_workflow_is_found_by_its_registered_name_only(local: httpx.AsyncClient, name: str) -> None:  # noqa: F811
    refused = await local.post("/api/v1/tasks", json={"workflow": name, "arguments": ["Ada"]})
    assert refused.status_code == 422
    assert "expected a registered one" in refused.json()["detail"]
