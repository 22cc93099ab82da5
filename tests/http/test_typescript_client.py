"""A client in TypeScript, generated from the served OpenAPI document, against the served API."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path

import httpx
import pytest

from stepward import App, Client
from tests.programs import npm_file, program

from .conftest import bearer, token_for
from .test_served import served

pytestmark = pytest.mark.servers

MODULES = Path(__file__).parents[2] / "build/npm/node_modules"
PROGRAMS = [Path(__file__).parents[1] / "npm" / name for name in ("client.mts", "operations.mts")]
GENERATOR = MODULES / "openapi-typescript/bin/cli.js"
COMPILER = MODULES / "typescript/bin/tsc"
OPTIONS = (
    "--strict",
    "--skipLibCheck",
    *("--module", "nodenext"),
    *("--target", "es2022"),
    *("--lib", "es2022,dom,dom.asynciterable"),
)
PATIENCE = 120


async def run(folder: Path, *words: str, code: int = 0) -> str:
    """What a program of Node writes."""
    node = program("node", "Debian's package nodejs")
    process = await asyncio.create_subprocess_exec(
        node, *words, cwd=folder, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    async with asyncio.timeout(PATIENCE):
        written, _ = await process.communicate()
    assert process.returncode == code, written.decode()
    return written.decode()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the client's source and npm's packages."""
    npm_file(COMPILER)
    folder = tmp_path / "client"
    folder.mkdir()
    (folder / "node_modules").symlink_to(MODULES)
    for program_file in PROGRAMS:
        shutil.copy(program_file, folder)
    (folder / "package.json").write_text('{"type": "module"}')
    return folder


async def test_a_generated_client_compiles_and_does_what_an_application_needs(
    app: App, client: Client, folder: Path
) -> None:
    token = await token_for(client, "ci", "operator", payloads=True)
    async with served(app) as (port, _):
        address = f"http://127.0.0.1:{port}"
        async with httpx.AsyncClient(base_url=address, headers=bearer(token)) as web:
            (folder / "openapi.json").write_bytes((await web.get("/api/v1/openapi.json")).content)
        await run(folder, str(GENERATOR), "openapi.json", "-o", "api.d.ts", "--default-non-nullable", "false")
        await run(folder, str(COMPILER), *OPTIONS, "client.mts")
        found = json.loads(await run(folder, "client.mjs", address, token))
    assert found == {
        "submitted": found["submitted"],  # pending, or waiting already
        "status": 202,
        "unknown": [404, "task 'none': expected an id that was submitted, found none such"],
        "refused": [422, found["refused"][1]],
        "stale": [412, "If-Match"],
        "fresh": True,
        "forked": ["order-2", "order-1", "signal:approved/1"],
        "late": 409,
        "told": found["told"],
        "listed": [["order-1", "north"]],
        "output": {"by": "Ada"},
    }
    assert found["told"][-1] == "processed"
    wrong = (folder / "client.mts").read_text().replace('workflow: "approval"', 'workflow: 7, arguments: "Ada"')
    (folder / "client.mts").write_text(wrong)
    said = await run(folder, str(COMPILER), *OPTIONS, "--noEmit", "client.mts", code=2)
    assert "Type 'number' is not assignable to type 'string'" in said


async def test_a_generated_client_acts_in_bulk_keeps_schedules_and_tests_sinks(
    app: App, client: Client, folder: Path
) -> None:
    token = await token_for(client, "ci", "admin", payloads=True)
    for number in range(3):
        await client.submit("approval", id=f"a-{number}")
    async with served(app) as (port, _):
        address = f"http://127.0.0.1:{port}"
        async with httpx.AsyncClient(base_url=address, headers=bearer(token)) as web:
            (folder / "openapi.json").write_bytes((await web.get("/api/v1/openapi.json")).content)
        await run(folder, str(GENERATOR), "openapi.json", "-o", "api.d.ts", "--default-non-nullable", "false")
        await run(folder, str(COMPILER), *OPTIONS, "operations.mts")
        found = json.loads(await run(folder, "operations.mjs", address, token))
    assert found == {
        "counted": [3, True],
        "refused": ["confirm", "preview"],
        "done": [3, 0, "the campaign is over"],
        "stopped": 409,
        "created": [201, 422],
        "triggered": 201,
        "paused": 204,
        "listed": ["hourly"],
        "removed": [204, 404],
        "sinks": ["log"],
        "tested": [404, 202],
        "receipts": ["log"],
        "silenced": [204, 204],
        "silences": [["task_error", "approval", "the bank knows"]],
        "bounded": 204,
        "limits": [["20/1s", None]],
        "stats": 0,
        "undrained": 404,
    }
