from __future__ import annotations

import re
from html.parser import HTMLParser

import httpx
import pytest

from stepward import Client, TaskHandle
from stepward.client import session_of
from tests.console.conftest import EVIL, SignedIn

PAGES = (
    "/",
    "/tasks",
    "/agents",
    "/limits",
    "/alerts",
    "/schedules",
    "/dead-letters",
    "/instances",
    "/audit",
    "/settings",
)


class Active(HTMLParser):
    """Collects what would run or dress a page without coming from a file of its own."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        if tag in ("style", "iframe", "object", "embed") or (tag == "script" and "src" not in known):
            self.found.append(tag)
        self.found += [name for name in known if name.startswith("on") or name == "style"]
        self.found += [value for value in known.values() if value and value.strip().lower().startswith("javascript:")]


def active(page: str) -> list[str]:
    return Active(page).found


@pytest.mark.parametrize("path", PAGES)
async def test_each_page_is_shown_on_an_empty_store(local: httpx.AsyncClient, path: str) -> None:
    answer = await local.get(path)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/html")
    assert active(answer.text) == []
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy


async def test_start_page_counts_what_needs_an_operator(local: httpx.AsyncClient, failed: TaskHandle) -> None:
    page = (await local.get("/")).text
    assert re.search(r'need-number">1</span><span class="need-word"><span[^>]*>✗</span> task in error', page)
    assert "alert open" in page
    assert "Agent" in page and "payment" in page


async def test_list_of_tasks_is_filtered_by_its_address(
    local: httpx.AsyncClient, failed: TaskHandle, done: TaskHandle
) -> None:
    everything = (await local.get("/tasks")).text
    assert "order-1" in everything and "order-2" in everything
    in_error = (await local.get("/tasks", params={"state": "error"})).text
    assert "order-1" in in_error and "order-2" not in in_error
    assert "card bad was refused" in in_error
    labelled = (await local.get("/tasks", params={"label": "customer=alice"})).text
    assert "order-1" in labelled and "order-2" not in labelled
    assert "No task matches" in (await local.get("/tasks", params={"workflow": "none-such"})).text


async def test_list_of_tasks_has_older_pages(local: httpx.AsyncClient, client: Client) -> None:
    ids = {f"wait-{number:02}" for number in range(55)}
    for id in ids:
        await client.submit("approval", id=id)
    first = (await local.get("/tasks")).text
    older = re.search(r'href="(/tasks\?before=[^"]+)" rel="next"', first)
    assert older is not None
    second = (await local.get(older[1])).text
    pages = [set(re.findall(r"title=\"(wait-\d\d)\"", page)) for page in (first, second)]
    assert [len(page) for page in pages] == [50, 5]
    assert pages[0] | pages[1] == ids


async def test_page_of_a_task_says_what_happened_in_the_words_of_its_author(
    local: httpx.AsyncClient, failed: TaskHandle
) -> None:
    page = (await local.get("/tasks/order-1")).text
    assert '<p class="sentence">Unrecoverable: card bad was refused</p>' in page
    assert "Traceback" in page and "raise Unrecoverable" in page
    assert "stepward resubmit order-1" in page
    assert "1 step will be taken back" in page
    assert 'id="row-1-payment.charge/1"' in page or 'id="row-1-payment.charge%2F1"' in page


async def test_a_task_that_is_not_there_is_a_page_that_says_so(local: httpx.AsyncClient) -> None:
    answer = await local.get("/tasks/none-such")
    assert answer.status_code == 404
    assert "There is no such thing here" in answer.text and "none-such" in answer.text


async def test_what_a_task_waits_for_can_be_given_to_it(local: httpx.AsyncClient, client: Client) -> None:
    await client.submit("approval", id="wait-1")
    async with client_waits(client, "wait-1"):
        page = (await local.get("/tasks/wait-1")).text
    assert "Send the signal" in page and "Payload of the signal approved" in page


async def test_a_viewer_is_offered_no_act(remote: httpx.AsyncClient, failed: TaskHandle, signed_in: SignedIn) -> None:
    headers = await signed_in("viewer", payloads=True)
    for path in ("/tasks", "/tasks/order-1", "/agents", "/alerts"):
        page = (await remote.get(path, headers=headers)).text
        assert 'method="post"' not in page, path


async def test_payloads_are_a_lock_for_a_role_that_may_not_see_them(
    remote: httpx.AsyncClient, failed: TaskHandle, done: TaskHandle, signed_in: SignedIn
) -> None:
    headers = await signed_in("operator", payloads=False)
    for path in ("/", "/tasks", "/tasks/order-1", "/tasks/order-2", "/alerts", "/audit"):
        page = (await remote.get(path, headers=headers)).text
        assert "secret-4711" not in page, path
        assert "card bad" not in page, path
        assert "[&#34;bad&#34;]" not in page, path
        assert "raise Unrecoverable" not in page, path
    assert "your role may not see payloads" in (await remote.get("/tasks/order-1", headers=headers)).text


async def test_a_scope_hides_the_pages_of_everything(
    remote: httpx.AsyncClient, failed: TaskHandle, done: TaskHandle, signed_in: SignedIn
) -> None:
    headers = await signed_in("operator", payloads=True, labels={"customer": "alice"})
    listed = (await remote.get("/tasks", headers=headers)).text
    assert "order-1" in listed and "order-2" not in listed
    assert (await remote.get("/tasks/order-2", headers=headers)).status_code == 404
    for path in ("/", "/agents", "/instances", "/audit", "/dead-letters"):
        assert (await remote.get(path, headers=headers)).status_code == 403, path


async def test_a_browser_without_a_session_is_sent_to_the_page_to_sign_in(remote: httpx.AsyncClient) -> None:
    answer = await remote.get("/tasks", headers={"accept": "text/html"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/login")
    login = (await remote.get("/login")).text
    assert "API token" in login and "/static/console.css" in login
    assert (await remote.get("/static/console.css")).status_code == 200


@pytest.mark.parametrize("path", ["/tasks", "/tasks/evil", "/alerts", "/", "/audit"])
async def test_text_of_others_never_becomes_markup(local: httpx.AsyncClient, client: Client, path: str) -> None:
    task = await client.submit("fulfil", EVIL, id="evil", labels={"who": EVIL[:-2]})
    with pytest.raises(Exception, match="refused"):
        await task.result(timeout=30)
    await client.suspend_agent("parcel", note="</script><b>")
    page = (await local.get(path)).text
    assert "<script>alert" not in page and "<img src=x" not in page and "<b>" not in page
    assert active(page) == []
    assert "\u202e" not in page and "\x1b" not in page


class client_waits:  # noqa: N801  reads as what it does
    """Until the task waits for its signal."""

    def __init__(self, client: Client, id: str) -> None:
        self._task = client.task(id)

    async def __aenter__(self) -> None:
        while (await self._task.status()).state != "waiting":
            pass

    async def __aexit__(self, *exception: object) -> None: ...


async def test_a_filter_stands_in_the_address_and_one_that_is_wrong_says_where(
    local: httpx.AsyncClient, failed: TaskHandle, done: TaskHandle
) -> None:
    found = (await local.get("/tasks", params={"where": "workflow = 'fulfil' and label.customer = 'alice'"})).text
    assert "order-1" in found and "order-2" not in found
    assert "label.customer = &#39;alice&#39;" in found
    wrong = await local.get("/tasks", params={"where": "state = <b>"})
    assert wrong.status_code == 422
    assert 'role="alert"' in wrong.text and "<b>" not in wrong.text


async def test_queues_of_the_store_are_on_the_start_page_with_their_age(
    local: httpx.AsyncClient, client: Client
) -> None:
    assert "Queues of the store" not in (await local.get("/")).text
    await session_of(client).store.messages.put("submission.orders", [(b'{"time":"2026-01-01T00:00:00Z"}', None)])
    page = (await local.get("/")).text
    queues = page.partition('id="queues"')[2].partition("</section>")[0]
    assert "submission.orders" in queues and "2026-01-01 00:00:00 UTC" in queues
