"""The control page, over real services: what it shows, and what it changes."""

from __future__ import annotations

import asyncio
import re
import signal
import sys
from collections.abc import AsyncIterator

import httpx
import pytest

from examples.shop.services.control.remote import LARGEST_ANSWER, PATIENCE_SECONDS
from examples.shop.services.control.web import build
from examples.shop.services.process import ServiceProcess
from tests.examples.control_process import NAMES, NOWHERE, ROOT, browser_of, ended, panel_over, start_panel
from tests.examples.service_calls import CHARGE, Start, hits, post
from tests.tiers import sampled

pytestmark = pytest.mark.servers

OF_AN_ORDER = {"kind": "down", "order_id": "order-2", "action": "charge", "times": 10}


@pytest.fixture
async def panel(payment: ServiceProcess) -> AsyncIterator[httpx.AsyncClient]:
    """The panel over a payment service; the other three are gone."""
    application = build({**dict.fromkeys(NAMES, NOWHERE), "payment": payment.url}, None)
    async with (
        application.router.lifespan_context(application),
        browser_of("http://127.0.0.1:8100", transport=httpx.ASGITransport(application)) as browser,
    ):
        yield browser


def part(page: httpx.Response, name: str) -> str:
    """The words of one part of the page."""
    found = re.search(rf'id="{name}" data-part.*?>(.*?)</(?:p|ul|div)>', page.text, re.DOTALL)
    assert found, page.text
    return " ".join(re.sub(r"<[^>]*>", " ", found[1]).split())


def is_on(page: httpx.Response, switch: str) -> bool:
    found = re.search(rf'id="{switch}" role="switch" aria-checked="(true|false)"', page.text)
    assert found, page.text
    return found[1] == "true"


async def test_a_fault_is_switched_on_and_off(payment: ServiceProcess, panel: httpx.AsyncClient) -> None:
    page = await panel.post("/services/payment/down", data={"on": "yes"})
    assert page.status_code == 200
    assert is_on(page, "payment-down")
    assert (await post(payment, "charge", CHARGE)).status_code == 503
    page = await panel.get("/")
    assert part(page, "payment-state") == "misbehaving"
    assert "down all calls 1 until switched off" in part(page, "payment-seen")
    page = await panel.post("/services/payment/down", data={"on": "no"})
    assert not is_on(page, "payment-down")
    assert (await post(payment, "charge", CHARGE)).status_code == 200


async def test_every_switch_is_on_the_page_and_puts_its_fault(
    payment: ServiceProcess, panel: httpx.AsyncClient
) -> None:
    for switch in ("slow", "flaky", "hang", "answer_lost", "crash", "declined"):
        await payment.put_faults([])
        page = await panel.post(f"/services/payment/{switch}", data={"on": "yes"})
        assert is_on(page, f"payment-{switch}")
        assert [fault["kind"] for fault in await payment.faults()] == [switch]


async def test_a_fault_that_struck_once_is_off_again(payment: ServiceProcess, panel: httpx.AsyncClient) -> None:
    await panel.post("/services/payment/answer_lost", data={"on": "yes"})
    with pytest.raises(httpx.RemoteProtocolError):
        await post(payment, "charge", CHARGE)
    page = await panel.get("/")
    assert not is_on(page, "payment-answer_lost")
    assert part(page, "payment-state") == "working"
    assert "answer lost all calls 1 spent" in part(page, "payment-seen")


async def test_faults_that_others_put_are_kept(payment: ServiceProcess, panel: httpx.AsyncClient) -> None:
    await payment.put_faults([OF_AN_ORDER])
    page = await panel.post("/services/payment/declined", data={"on": "yes"})
    assert [fault["kind"] for fault in await payment.faults()] == ["down", "declined"]
    assert "down charge of order-2 0 10 left" in part(page, "payment-seen")
    assert (await post(payment, "charge", CHARGE)).status_code == 402
    assert await hits(payment) == [0, 1]


@pytest.mark.faults
async def test_quick_changes_do_not_undo_one_another(payment: ServiceProcess, panel: httpx.AsyncClient) -> None:
    chosen = ["crash", "down", "flaky", "slow"]
    await asyncio.gather(*(panel.post(f"/services/payment/{switch}", data={"on": "yes"}) for switch in chosen))
    assert [fault["kind"] for fault in await payment.faults()] == chosen


@pytest.mark.faults
async def test_all_faults_off(start_service: Start) -> None:
    services = [await start_service(name) for name in ("stock", "payment", "parcel", "mail")]
    for service in services:
        await service.put_faults([{"kind": "down"}])
    async with panel_over({service.name: service.url for service in services}) as url, browser_of(url) as browser:
        assert part(await browser.get("/"), "summary") == "4 faults are on."
        page = await browser.post("/off")
    assert (page.status_code, part(page, "summary")) == (200, "No fault is on.")
    assert [await service.faults() for service in services] == [[], [], [], []]


async def test_the_ledger_shows_what_was_done_and_taken_back(payment: ServiceProcess, panel: httpx.AsyncClient) -> None:
    for number in range(1, 8):
        await post(payment, "charge", {**CHARGE, "order_id": f"order-{number}"}, f"key-{number}")
    await post(payment, "charge", {**CHARGE, "order_id": "order-7"}, "key-7")
    await post(payment, "refund", {"order_id": "order-7"}, "undo-7", Stepward_Undoes="key-7")
    seen = part(await panel.get("/"), "payment-seen")
    assert "7 done, 1 taken back, asked 9 times" in seen
    done = re.findall(r"(\w+) (order-\d) 42\.00 (\d)× (stands|taken back|takes back)", seen)
    assert done == [
        ("refund", "order-7", "1", "takes back"),
        ("charge", "order-7", "2", "taken back"),
        *[("charge", f"order-{number}", "1", "stands") for number in (6, 5, 4, 3)],
    ]


async def test_a_service_that_is_gone_is_shown_so(payment: ServiceProcess, panel: httpx.AsyncClient) -> None:
    page = await panel.get("/")
    assert page.status_code == 200
    assert part(page, "summary") == (
        "Stock does not answer, parcel does not answer, mail does not answer, no fault is on."
    )
    assert (part(page, "payment-state"), part(page, "mail-state")) == ("working", "not answering")
    await payment.kill()
    assert part(await panel.get("/"), "payment-state") == "not answering"
    await payment.restart()
    assert part(await panel.get("/"), "payment-state") == "working"


async def test_a_failed_change_is_reported(payment: ServiceProcess, panel: httpx.AsyncClient) -> None:
    await payment.put_faults([{"kind": "down"}])
    page = await panel.post("/services/mail/down", data={"on": "yes"})
    assert page.status_code == 502
    assert "Nothing was changed there: mail does not answer at http://127.0.0.1:1" in part(page, "notices")
    page = await panel.post("/off")
    assert page.status_code == 502
    assert "stock does not answer" in page.text
    assert await payment.faults() == []


async def test_the_wrong_service_is_named(payment: ServiceProcess) -> None:
    async with panel_over({"mail": payment.url}) as url, browser_of(url) as browser:
        page = await browser.get("/")
        assert f"expected mail at {payment.url}, found payment: look at --mail" in part(page, "mail-seen")


@pytest.mark.faults
@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"", "is it running?"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{", "is it running?"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "found something else"),
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "is it running?"),
        (b"HTTP/1.1 200 OK\r\n\r\n[" + b" " * LARGEST_ANSWER, f"expected at most {LARGEST_ANSWER} bytes"),
    ],
    ids=["hangs", "stalls", "no JSON", "no service", "too long"],
)
async def test_a_service_that_answers_badly_is_shown_as_gone(answer: bytes, words: str) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        await reader.read()
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, panel_over({"mail": f"http://127.0.0.1:{port}"}) as url, browser_of(url) as browser:
        page = await browser.get("/", timeout=PATIENCE_SECONDS + 3)
        assert (page.status_code, part(page, "mail-state")) == (200, "not answering")
        assert words in part(page, "mail-seen")


async def test_answers_of_services_are_escaped(payment: ServiceProcess, panel: httpx.AsyncClient) -> None:
    await post(payment, "charge", {**CHARGE, "order_id": "<script>alert(1)</script>"})
    page = await panel.get("/")
    assert "&lt;script&gt;alert(1)" in page.text
    assert "<script>alert" not in page.text


@pytest.mark.faults
async def test_links_to_the_shop_if_there_is_one(panel: httpx.AsyncClient) -> None:
    assert "To the shop" not in (await panel.get("/")).text
    async with panel_over({}, "--storefront", "http://127.0.0.1:8000/") as url, browser_of(url) as browser:
        assert 'href="http://127.0.0.1:8000">To the shop' in (await browser.get("/")).text


async def test_health(panel: httpx.AsyncClient) -> None:
    assert (await panel.get("/health")).json() == {"service": "control", "status": "ok"}


async def test_a_visitor_who_leaves_amid_a_form_is_no_error() -> None:
    async with panel_over({}) as url, browser_of(url) as panel:
        reader, writer = await asyncio.open_connection(panel.base_url.host, panel.base_url.port)
        writer.write(b"POST /off HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\non=")
        writer.write_eof()
        await reader.read()
        writer.close()
        assert (await panel.get("/health")).status_code == 200


@pytest.mark.parametrize("number", sampled((signal.SIGTERM, signal.SIGINT), signal.SIGTERM))
async def test_a_signal_ends_it_in_good_order(number: signal.Signals) -> None:
    process, _ = await start_panel({})
    process.send_signal(number)
    assert await ended(process) == (0, "")


async def test_says_what_is_wrong_with_its_command_line() -> None:
    process = await asyncio.create_subprocess_exec(
        *[sys.executable, "-m", "examples.shop.services.control", "--stock", "localhost:8101"],
        cwd=ROOT,
        stderr=asyncio.subprocess.PIPE,
    )
    _, said = await process.communicate()
    assert process.returncode == 2
    assert b"argument --stock: expected a URL such as http://127.0.0.1:8102, found 'localhost:8101'" in said
