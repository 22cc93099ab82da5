from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from stepward import Accepted, Agent, App, Client, Message, Transaction, Unrecoverable, wait_for, workflow
from stepward.client import session_of
from stepward.http import application
from stepward.http.access.api_tokens import fresh_secret
from stepward.model.credentials import AccessRole, Credential, CredentialKind
from tests.http.litestars import Litestars

LITESTARS = Litestars(application._litestar)

HOOK_SECRET = "whsec_" + "A" * 32
pay = Agent("pay")


@pay.operation(complete_by="20s")
async def charge(card: str) -> str:
    if card == "bad":
        raise Unrecoverable("card secret-4711 was refused")
    return f"charged {card}"


@workflow
async def greet(name: str) -> str:
    return f"hello {name}"


@workflow
async def order(card: str) -> str:
    return await charge(card)


@workflow
async def approval() -> Any:
    return await wait_for("approved")


async def greeted(message: Message, transaction: Transaction) -> Accepted:
    return Accepted(greet, message.read(str))


@pytest.fixture(autouse=True)
def litestars(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(application, "_litestar", LITESTARS)
    yield
    LITESTARS.take_back()


@asynccontextmanager
async def caller(asgi: Any, **options: Any) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the ASGI application, under a name of loopback."""
    transport = httpx.ASGITransport(asgi)
    async with asgi, httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8321", **options) as client:
        yield client


async def token_for(client: Client, name: str, role: str, **more: Any) -> str:
    """The text of a new token."""
    secret, session = fresh_secret(), session_of(client)
    credential = Credential(
        id=secret.id,
        kind=CredentialKind.TOKEN,
        name=name,
        secret_hash=secret.hash,
        role=AccessRole(role),
        created_by="test",
        **more,
    )
    assert await session.store.operators.add_credential(credential, "test")
    return secret.text


def bearer(text: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {text}"}


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[App]:
    """An application at work, with one workflow."""
    hooks = {"greetings": {"queue": "greetings", "secret": HOOK_SECRET}}
    store = f"sqlite:///{tmp_path}/shop.db"
    app = App("shop", workflows=[greet, order, approval], agents=[pay], store=store, hooks=hooks)
    app.submission("greetings", accept=greeted)
    async with app.running():
        yield app


@pytest.fixture
async def client(app: App) -> AsyncIterator[Client]:
    async with app.client() as client:
        yield client


@pytest.fixture
async def local(app: App) -> AsyncIterator[httpx.AsyncClient]:
    """A caller of the application that serves its own host alone."""
    async with caller(app.asgi(local_admin=True)) as client:
        yield client


@pytest.fixture
async def remote(app: App) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the application without local admin: every request must authenticate."""
    async with caller(app.asgi()) as client:
        yield client


Minted = Callable[..., Awaitable[dict[str, str]]]


@pytest.fixture
async def minted(client: Client) -> Minted:
    """Makes a token; the headers that send it."""

    async def make(role: str, name: str = "ci", **more: Any) -> dict[str, str]:
        return bearer(await token_for(client, name, role, **more))

    return make
