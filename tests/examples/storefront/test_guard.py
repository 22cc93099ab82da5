"""Requests that the storefront refuses."""

from __future__ import annotations

import ast
import re
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

import examples.shop.storefront
from examples.shop.storefront import pages
from examples.shop.storefront.records import Records
from examples.shop.storefront.storefront import Storefront
from stepward import errors
from tests.examples.storefront.conftest import Visit
from tests.examples.storefront.customers import ORDER, heard, order
from tests.examples.storefront.fakes import ALL_WELL, RECEIVED, FakeDoor, step, task

CHANGES = ("/basket", "/basket/change", "/basket/remove", "/orders")


@pytest.mark.parametrize("path", CHANGES)
@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site", "Origin": "http://shop.test"},
        {"Origin": "http://evil.test"},
        {"Origin": "http://shop.test:81"},
        {"Origin": "http://shop.test.evil.test"},
        {"Origin": "null"},
    ],
)
async def test_other_sites_change_nothing(
    ada: httpx.AsyncClient, door: FakeDoor, path: str, headers: dict[str, str]
) -> None:
    answer = await ada.post(path, data=ORDER, headers=headers)
    assert answer.status_code == 403 and "from another site" in answer.text
    assert not door.posted
    assert "There is nothing in it yet." in (await ada.get("/basket")).text


@pytest.mark.parametrize(
    "headers",
    [{}, {"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}, {"Origin": "http://shop.test"}],
)
async def test_our_own_pages_and_programs_may(ada: httpx.AsyncClient, headers: dict[str, str]) -> None:
    assert (await ada.post("/orders", data=ORDER, headers=headers)).status_code == 303


async def test_looking_changes_nothing(ada: httpx.AsyncClient, door: FakeDoor) -> None:
    for path in ("/basket", "/orders", "/basket/change", "/basket/remove", "/checkout"):
        await ada.get(path, params=ORDER)
    assert "There is nothing in it yet." in (await ada.get("/basket")).text
    assert not door.posted
    assert (await ada.get("/basket/change")).status_code == 405


@pytest.mark.parametrize("path", ["/", "/orders", "/orders/order-01", "/nowhere", "/static/shop.css", "/health"])
async def test_every_answer_carries_the_headers(ada: httpx.AsyncClient, path: str) -> None:
    await order(ada)
    check_headers(await ada.get(path))


async def test_refusals_carry_the_headers(ada: httpx.AsyncClient) -> None:
    check_headers(await ada.post("/orders", headers={"Origin": "null"}))


def check_headers(answer: httpx.Response) -> None:
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy and "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "same-origin"


async def test_pages_are_not_cached_and_files_under_their_version(ada: httpx.AsyncClient) -> None:
    page = await ada.get("/")
    assert page.headers["cache-control"] == "no-store"
    files = set(re.findall(r"/static/[^\"]+", page.text))
    assert len(files) == 10
    for url in files:
        assert "immutable" in (await ada.get(url)).headers["cache-control"]
        assert (await ada.get(url.partition("?")[0])).headers["cache-control"] == "no-cache"


def test_another_content_has_another_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "STATIC", tmp_path)
    (tmp_path / "shop.css").write_text("one")
    before = pages.static_urls()
    (tmp_path / "shop.css").write_text("other")
    assert before["shop.css"].startswith("/static/shop.css?v=") and pages.static_urls() != before


async def test_pages_hold_no_code_of_their_own(ada: httpx.AsyncClient) -> None:
    await order(ada)
    for path in ("/", "/products/teapot", "/basket", "/checkout", "/orders", "/orders/order-01"):
        page = (await ada.get(path)).text
        assert "style=" not in page and "<style" not in page and " on" + "click" not in page
        assert page.count("<script") == page.count('<script src="/static/')


async def test_the_cookie_is_for_the_server_alone(visit: Visit) -> None:
    ada = visit()
    cookie = (await ada.get("/")).headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=lax" in cookie and "Secure" not in cookie
    assert "set-cookie" not in (await ada.get("/basket")).headers, "a known visitor keeps the name"
    assert (await visit().get("/")).headers["set-cookie"].split(";")[0] != cookie.split(";")[0]
    assert "Secure" in (await visit().get("https://shop.test/")).headers["set-cookie"]


async def test_a_cookie_that_is_not_ours_is_replaced(visit: Visit) -> None:
    for value in ("short", "x" * 32, "0" * 5000):
        assert "set-cookie" in (await visit().get("/", headers={"Cookie": f"shop_visitor={value}"})).headers


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"a=1", "application/json", 415),
        (b"a=1", "multipart/form-data; boundary=x", 415),
        (b"a=" + b"1" * 64 * 1024, "application/x-www-form-urlencoded", 413),
        (b"&".join(b"a=1" for _ in range(101)), "application/x-www-form-urlencoded", 400),
        (b"customer=%ff", "application/x-www-form-urlencoded", 400),
        (b"customer=\xff", "application/x-www-form-urlencoded", 400),
    ],
)
async def test_refuses_what_is_no_form(ada: httpx.AsyncClient, body: bytes, kind: str, status: int) -> None:
    for path in CHANGES:
        answer = await ada.post(path, content=body, headers={"Content-Type": kind})
        assert answer.status_code == status and "Kettle &amp; Anvil" in answer.text


async def test_reads_no_more_of_a_body_than_it_may(ada: httpx.AsyncClient) -> None:
    read = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal read
        while True:
            read += 1
            assert read < 100
            yield b"a" * 4096

    answer = await ada.post("/orders", content=endless(), headers={"Content-Type": "application/x-www-form-urlencoded"})
    assert answer.status_code == 413


async def test_everything_is_escaped(ada: httpx.AsyncClient, storefront: Storefront, door: FakeDoor) -> None:
    evil = "<script>alert(1)</script>\"'"
    assert evil not in (await order(ada, customer="", address=evil)).text
    await order(ada, customer=evil, address=evil)
    await heard(storefront, door, "order-01", RECEIVED, step("stock.reserve"), task("completed", result=evil))
    page = (await ada.get("/orders/order-01")).text
    assert "<script>" not in page and page.count("&lt;script&gt;") == 3


async def test_a_customer_never_reads_what_a_programmer_wrote(
    ada: httpx.AsyncClient, storefront: Storefront, door: FakeDoor
) -> None:
    await order(ada)
    error = {"message": "POST stock:/reserve: expected success, found 500 Traceback", "type": "Unrecoverable"}
    await heard(
        storefront,
        door,
        "order-01",
        RECEIVED,
        step("stock.reserve", happened="failed", error=error),
        task("failed", error=error),
    )
    assert "Traceback" not in (await ada.get("/orders/order-01")).text


async def test_an_unknown_path_has_a_page_of_the_shop(ada: httpx.AsyncClient) -> None:
    for path in ("/nowhere", "/orders/order-77", "/orders/order-77.json", "/static/nothing.css", "/static/../web.py"):
        answer = await ada.get(path)
        assert answer.status_code == 404 and "Kettle &amp; Anvil" in answer.text


async def test_an_internal_error_page_reveals_nothing(ada: httpx.AsyncClient, records: Records) -> None:
    records.close()
    answer = await ada.get("/basket")
    assert answer.status_code == 500 and "Something broke here" in answer.text
    assert "closed" not in answer.text and "Traceback" not in answer.text
    check_headers(answer)


async def test_health(ada: httpx.AsyncClient) -> None:
    answer = await ada.get("/health")
    assert answer.json() == {"service": "storefront", "status": "ok"}
    assert "set-cookie" not in answer.headers


async def test_the_order_for_programs(ada: httpx.AsyncClient, storefront: Storefront, door: FakeDoor) -> None:
    await order(ada)
    await heard(storefront, door, "order-01", *ALL_WELL)
    told = (await ada.get("/orders/order-01.json")).json()
    assert (told["id"], told["state"], told["headline"]) == ("order-01", "delivered", "On its way to you")
    assert told["steps"][0] == {"name": "Order received", "state": "done"}
    assert [event["sequence"] for event in told["events"]] == list(range(1, 10))
    assert told["events"][0] == {
        "id": "order-01/1",
        "sequence": 1,
        "type": "stepward.request.received",
        "time": "2026-11-21T12:00:01+00:00",
    }


def test_the_package_knows_of_stepward_nothing_but_its_door() -> None:
    known = {"Queues", "StatusEvent", *(name for name in dir(errors) if name[0].isupper())}
    for path in Path(examples.shop.storefront.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                assert not any(alias.name.startswith("stepward") for alias in node.names), path
            elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("stepward"):
                assert node.module in ("stepward", "stepward.errors"), path
                assert {alias.name for alias in node.names} <= known, path
            elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("examples"):
                ours = ("examples.shop.storefront.", "examples.orders.catalogue", "examples.orders")
                assert f"{node.module}.".startswith(ours[0]) or node.module in ours, path


@pytest.mark.parametrize("host", ["evil.test", "shop.test.evil.test", "evil.test:80", "", "[", "127.0.0.1.evil.test"])
async def test_under_a_name_that_is_not_the_shops_nothing_is_shown(ada: httpx.AsyncClient, host: str) -> None:
    answer = await ada.get("/basket", headers={"Host": host})
    assert answer.status_code == 421 and "not under that name" in answer.text
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(
    "host", ["shop.test", "SHOP.test:8000", "localhost:8000", "127.0.0.1", "10.0.0.7:80", "[::1]:8"]
)
async def test_under_its_names_and_addresses_the_shop_answers(ada: httpx.AsyncClient, host: str) -> None:
    assert (await ada.get("/basket", headers={"Host": host})).status_code == 200
