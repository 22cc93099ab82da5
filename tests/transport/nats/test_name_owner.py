"""The name of an application at NATS, where another process takes it between a look and the attempt to take it."""

from __future__ import annotations

import pytest
from nats.js import JetStreamContext
from nats.js.api import StreamInfo

from stepward.errors import SettingsError
from stepward.transport.nats import name_owner
from tests.transport.apart.test_receipt import OTHER
from tests.transport.brokers import opened

pytestmark = pytest.mark.servers


async def test_a_name_that_was_taken_since_the_look_is_looked_at_again(
    address: str, app: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await opened(address, app=app)
    found, looks = name_owner._found, list[str]()

    async def too_early(context: JetStreamContext, name: str) -> StreamInfo | None:
        looks.append(name)
        return None if len(looks) == 1 else await found(context, name)

    monkeypatch.setattr(name_owner, "_found", too_early)
    second = await opened(address, app=app)
    assert len(looks) == 1
    looks.clear()
    with pytest.raises(SettingsError, match="found the store"):
        await opened(address, app=app, signer=OTHER)
    assert len(looks) == 2
    await first.close()
    await second.close()
