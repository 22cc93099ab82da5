"""What the control page refuses: other sites, other names, large bodies, changes by GET."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest

from examples.shop.services.control.guard import HEADERS, LARGEST_FORM
from examples.shop.services.control.web import build
from examples.shop.services.process import ServiceProcess

pytestmark = pytest.mark.servers

OWN = "http://127.0.0.1:8100"
SWITCH = "/services/payment/down"
ON = {"on": "yes"}


@pytest.fixture
async def panel(payment: ServiceProcess) -> AsyncIterator[httpx.AsyncClient]:
    application = build({"payment": payment.url}, None)
    async with (
        application.router.lifespan_context(application),
        httpx.AsyncClient(base_url=OWN, transport=httpx.ASGITransport(application)) as client,
    ):
        yield client


async def kinds(payment: ServiceProcess) -> list[str]:
    return [fault["kind"] for fault in await payment.faults()]


@pytest.mark.parametrize("path", [SWITCH, "/off"])
async def test_another_site_changes_nothing(payment: ServiceProcess, panel: httpx.AsyncClient, path: str) -> None:
    await payment.put_faults([{"kind": "slow", "seconds": 1}])
    foreign: list[dict[str, str]] = [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site", "Origin": OWN},
        {"Origin": "http://shop.example"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "null"},
    ]
    for headers in foreign:
        response = await panel.post(path, data=ON, headers=headers)
        assert (headers, response.status_code) == (headers, 403)
        assert "another site" in response.text
    assert await kinds(payment) == ["slow"]


async def test_its_own_page_and_programs_are_let_in(payment: ServiceProcess, panel: httpx.AsyncClient) -> None:
    own: list[dict[str, str]] = [{"Sec-Fetch-Site": "same-origin"}, {"Origin": OWN}, {}]
    for headers in own:
        await payment.put_faults([])
        response = await panel.post(SWITCH, data=ON, headers=headers)
        assert (headers, response.status_code, response.headers.get("location")) == (headers, 303, "/")
        assert await kinds(payment) == ["down"]


async def test_is_known_by_its_own_name_only(panel: httpx.AsyncClient) -> None:
    assert (await panel.get("/", headers={"Host": "rebound.example"})).status_code == 400
    assert (await panel.get("/", headers={"Host": "localhost:8100"})).status_code == 200


async def test_nothing_changes_by_get(payment: ServiceProcess, panel: httpx.AsyncClient) -> None:
    assert (await panel.get(SWITCH, params=ON)).status_code == 405
    assert (await panel.get("/off")).status_code == 405
    assert await kinds(payment) == []


async def test_a_switch_that_is_not_there(panel: httpx.AsyncClient) -> None:
    for path in ("/services/payment/unheard", "/services/bank/down", "/services/mail/declined"):
        response = await panel.post(path, data=ON)
        assert (path, response.status_code) == (path, 404)
        assert response.text == "expected a switch of a service, found none of that name"


async def test_a_malformed_form(payment: ServiceProcess, panel: httpx.AsyncClient) -> None:
    for form in (b"", b"on=", b"on=maybe", b"on=yes&on=no", b"\xff\xfe"):
        response = await panel.post(SWITCH, content=form)
        assert (form, response.status_code) == (form, 400)
        assert response.text == "expected on=yes or on=no, found neither"
    assert await kinds(payment) == []


@pytest.mark.parametrize("path", [SWITCH, "/off"])
async def test_a_form_that_is_too_large(payment: ServiceProcess, panel: httpx.AsyncClient, path: str) -> None:
    await payment.put_faults([{"kind": "slow", "seconds": 1}])
    response = await panel.post(path, content=b"on=yes&" + b"x" * LARGEST_FORM)
    assert response.status_code == 413
    assert await kinds(payment) == ["slow"]


async def test_every_answer_forbids_foreign_code(panel: httpx.AsyncClient) -> None:
    for path in ("/", "/static/panel.css", "/nowhere", "/health"):
        headers = (await panel.get(path)).headers
        assert {name: headers.get(name) for name in HEADERS} == HEADERS
    assert "default-src 'none'" in HEADERS["Content-Security-Policy"]
    assert "unsafe" not in HEADERS["Content-Security-Policy"]
