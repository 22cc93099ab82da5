"""S3 and Azure Blob as servers: payloads go there and come back, and are deleted with their tasks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from servers import object_stores
from servers.object_stores import ObjectServer
from stepward import Encryption, LargePayloads
from stepward.large_payloads import keeper_of, message_owner
from tests.large_payloads.shop import OVER, application, large
from tests.programs import npm_file, program
from tests.until import until

pytestmark = pytest.mark.servers
AZURITE = Path(__file__).parents[2] / "build/npm/node_modules/azurite/dist/src/blob/main.js"
KEYS = Encryption("k1", {"k1": bytes(range(32))})


@pytest.fixture(params=["s3", "azure"])
def server(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectServer]:
    if request.param == "s3":
        running = object_stores.s3()
    else:
        npm_file(AZURITE)
        running = object_stores.azure(program("node", "Debian's package nodejs"), AZURITE)
    with running as started:
        for name, value in started.environment.items():
            monkeypatch.setenv(name, value)
        yield started


async def test_payloads_go_there_come_back_and_are_deleted(server: ObjectServer, tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'shop.db'}"
    async with (app := application(store, server.address, encryption=KEYS)).running(), app.client() as client:
        task = await client.submit("child", large("card"), id="c")
        assert await task.result(timeout=60) == large("noted card")
    keeper = keeper_of("shop", LargePayloads(server.address, over_bytes=OVER), encrypts=False)
    assert keeper is not None

    async def objects() -> list[bytes | None]:
        return [await keeper.objects.get(each.name) async for page in keeper.objects.listed() for each in page]

    bodies = await objects()
    assert len(bodies) == 2
    assert all(body is not None and b"xxxxxxxx" not in body for body in bodies)
    app = application(store, server.address, encryption=KEYS, retention="1s")

    async def after_a_pass() -> list[bytes | None]:
        await app.supervise_once()
        return await objects()

    await until(after_a_pass, lambda found: not found)
    reference = await keeper.put(message_owner("m"), large("message").encode())
    await keeper.objects.delete([each.name async for page in keeper.objects.listed() for each in page])
    assert b"is missing" in await keeper.fetch(message_owner("m"), reference)
