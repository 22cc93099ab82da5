"""Orders over HTTP: placed once, or refused with a word beside the field."""

from __future__ import annotations

import asyncio
import re

import httpx
import pytest

from examples.shop.storefront.records import Records
from examples.shop.storefront.storefront import Storefront
from stepward.errors import CommitUnknown, StepwardError, StoreUnavailable, TransportError
from tests.examples.storefront.conftest import Visit
from tests.examples.storefront.customers import Page, heard, order
from tests.examples.storefront.fakes import RECEIVED, FakeDoor


async def fill_basket(customer: httpx.AsyncClient) -> None:
    await customer.post("/basket", data={"product": "teapot", "quantity": "2"})
    await customer.post("/basket", data={"product": "kettle", "quantity": "1"})


async def checkout(customer: httpx.AsyncClient) -> dict[str, str]:
    """The form as a browser would send it, with a name and an address typed in."""
    fields = Page(await customer.get("/checkout")).fields
    hidden = {name: fields[name]["value"] or "" for name in ("order", "seen")}
    return {**hidden, "customer": "Ada", "address": "Harbour Street 5", "care": "patient"}


async def test_posts_what_is_in_the_basket(ada: httpx.AsyncClient, door: FakeDoor) -> None:
    await fill_basket(ada)
    form = await checkout(ada)
    assert re.fullmatch(r"order-[0-9a-f]{16}", form["order"])
    answer = await ada.post("/orders", data=form)
    assert (answer.status_code, answer.headers["location"]) == (303, f"/orders/{form['order']}")
    [posted] = door.posted
    assert (posted.queue, posted.id, posted.reply_to) == ("orders", form["order"], "replies.orders.storefront-1")
    assert posted.data == {
        "customer": "Ada",
        "lines": [{"product": "teapot", "quantity": 2}, {"product": "kettle", "quantity": 1}],
        "address": "Harbour Street 5",
        "care": "patient",
    }
    assert "There is nothing in it yet." in (await ada.get("/basket")).text
    page = (await ada.get(answer.headers["location"])).text
    assert "Your order is with us" in page and "€152.50" in page and "Harbour Street 5" in page
    assert form["order"] in (await ada.get("/orders")).text


async def test_takes_an_order_with_its_lines_and_leaves_the_basket_alone(
    ada: httpx.AsyncClient, door: FakeDoor
) -> None:
    await fill_basket(ada)
    answer = await order(ada, product=["anvil", "kettle", "anvil"], quantity=["1", "500", "2"])
    assert answer.headers["location"] == "/orders/order-01"
    assert door.posted[0].data["lines"] == [
        {"product": "anvil", "quantity": 3},
        {"product": "kettle", "quantity": 500},
    ]
    assert "Stoneware teapot" in (await ada.get("/basket")).text


async def test_the_same_form_makes_one_order(ada: httpx.AsyncClient, door: FakeDoor) -> None:
    await fill_basket(ada)
    form = await checkout(ada)
    answers = [*await asyncio.gather(*(ada.post("/orders", data=form) for _ in range(5)))]
    await fill_basket(ada)
    answers.append(await ada.post("/orders", data={**form, "address": "", "seen": "1"}))
    assert {answer.headers["location"] for answer in answers} == {f"/orders/{form['order']}"}
    assert {posted.id for posted in door.posted} == {form["order"]}
    assert len({str(posted.data) for posted in door.posted}) == 1
    assert (await ada.get("/orders")).text.count(f"/orders/{form['order']}") == 1
    assert "Stoneware teapot" in (await ada.get("/basket")).text, "what came after the order is not part of it"


async def test_a_placed_order_is_not_posted_again(ada: httpx.AsyncClient, door: FakeDoor) -> None:
    await order(ada)
    await order(ada, quantity="3")
    assert [posted.data["lines"][0]["quantity"] for posted in door.posted] == [2]


async def test_orders_are_private_to_their_customer(visit: Visit, door: FakeDoor) -> None:
    ada, mallory = visit(), visit()
    await order(ada)
    taken = await order(mallory, customer="Mallory")
    assert taken.status_code == 409 and "That order number is taken" in taken.text
    assert len(door.posted) == 1
    for path in ("/orders/order-01", "/orders/order-01.json", "/orders/order-01/live"):
        assert (await mallory.get(path)).status_code == 404
    assert "order-01" not in (await mallory.get("/orders")).text
    assert (await ada.get("/orders/order-01")).status_code == 200


@pytest.mark.parametrize(
    "name", ["", "order-", "ORDER-1", "order-A", "order-1/2", "order_1", "order-1 ", "order-" + "1" * 61]
)
async def test_refuses_a_malformed_id_and_offers_a_good_one(ada: httpx.AsyncClient, door: FakeDoor, name: str) -> None:
    answer = await order(ada, order=name)
    assert answer.status_code == 400 and not door.posted
    page = Page(answer)
    assert page.texts["error-order"] == "This form had no valid order number. It has a new one now: send it again."
    assert page.fields["customer"]["value"] == "Ada"
    assert (await order(ada, order=page.fields["order"]["value"])).status_code == 303


@pytest.mark.parametrize("name", ["order-1", "order-" + "z" * 60])
async def test_takes_well_formed_ids(ada: httpx.AsyncClient, name: str) -> None:
    assert (await order(ada, order=name)).headers["location"] == f"/orders/{name}"


@pytest.mark.parametrize(
    ("field", "typed", "words"),
    [
        ("customer", "", "Please tell us your name."),
        ("customer", " \t ", "Please tell us your name."),
        ("customer", "x" * 81, "At most 80 characters, please."),
        ("customer", "A\x00da", "Letters, digits and punctuation only, please."),
        ("customer", "A\u202eda", "Letters, digits and punctuation only, please."),
        ("address", "", "Please tell us where the parcel goes."),
        ("address", "x" * 201, "At most 200 characters, please."),
        ("address", "x" * 5000, "At most 200 characters, please."),
    ],
)
async def test_says_beside_the_field_what_is_wrong(
    ada: httpx.AsyncClient, door: FakeDoor, field: str, typed: str, words: str
) -> None:
    answer = await order(ada, **{field: typed})
    assert answer.status_code == 400 and not door.posted
    page = Page(answer)
    assert page.error(field) == words
    assert page.fields["order"]["value"] == "order-01", "the same form can be sent again"
    other = {"customer": "address", "address": "customer"}[field]
    assert "aria-invalid" not in page.fields[other]
    assert "Ada" in answer.text if field == "address" else "Harbour Street 5" in answer.text
    assert (await ada.get("/orders/order-01")).status_code == 404


@pytest.mark.parametrize("care", ["", "angry", "NORMAL"])
async def test_refuses_another_care(ada: httpx.AsyncClient, care: str) -> None:
    answer = await order(ada, care=care)
    assert answer.status_code == 400 and Page(answer).texts["error-care"] == "Please choose one of these."


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"product": "unicorn"}, "We do not sell “unicorn”: we left it out."),
        ({"product": ["teapot", "<b>" * 40], "quantity": ["1", "1"]}, "We do not sell “<b><b>"),
        ({"product": ["teapot"] * 21, "quantity": ["1"] * 21}, "At most 20 lines make one order; yours has 21."),
        (
            {"product": ["teapot"] * 2, "quantity": ["300", "201"]},
            "At most 500 of one thing; you asked for 501 × Stoneware teapot.",
        ),
        ({"product": ["teapot", "kettle"], "quantity": ["1"]}, "Each product needs one quantity"),
        ({"product": None}, "Each product needs one quantity"),
        ({"product": None, "quantity": None}, "There is nothing in your basket."),
    ],
)
async def test_says_what_is_wrong_with_the_lines(
    ada: httpx.AsyncClient, door: FakeDoor, changes: dict[str, object], words: str
) -> None:
    answer = await order(ada, **changes)
    assert answer.status_code == 400 and not door.posted
    said = Page(answer).texts["error-lines"]
    assert said.startswith(words) and len(said) < 100
    assert Page(answer).fields["customer"]["value"] == "Ada"
    assert "<b>" not in answer.text


async def test_says_beside_the_line_what_is_wrong_with_it(ada: httpx.AsyncClient, door: FakeDoor) -> None:
    answer = await order(ada, product=["teapot", "kettle"], quantity=["2", "501"])
    page = Page(answer)
    assert answer.status_code == 400 and not door.posted
    assert page.error("quantity-2") == "A whole number from 1 to 500, please."
    assert (page.fields["quantity-1"]["value"], page.fields["quantity-2"]["value"]) == ("2", "501")


async def test_an_order_at_a_changed_price_is_refused(ada: httpx.AsyncClient, door: FakeDoor) -> None:
    await fill_basket(ada)
    form = await checkout(ada)
    await ada.post("/basket", data={"product": "anvil", "quantity": "1"})
    answer = await ada.post("/orders", data=form)
    assert answer.status_code == 400 and not door.posted
    assert Page(answer).texts["error-lines"].startswith("Your basket has changed since you opened this page.")
    form["seen"] = Page(answer).fields["seen"]["value"] or ""
    assert (await ada.post("/orders", data=form)).status_code == 303


async def test_an_address_may_be_left_out_when_that_is_meant(ada: httpx.AsyncClient, door: FakeDoor) -> None:
    assert 'value="no-address"' in (await order(ada, address="")).text
    assert (await order(ada, address="", confirm="yes")).status_code == 400
    assert (await order(ada, address="x" * 201, confirm="no-address")).status_code == 400
    assert (await order(ada, address="", confirm="no-address")).status_code == 303
    assert door.posted[0].data["address"] == ""
    assert "no address" in (await ada.get("/orders/order-01")).text


async def test_an_address_of_several_lines_becomes_one(ada: httpx.AsyncClient, door: FakeDoor) -> None:
    await order(ada, address=" Harbour Street  5,\r\n\r\n12345 Port \u00a0")
    assert door.posted[0].data["address"] == "Harbour Street 5, 12345 Port"


def _caused(error: StepwardError, cause: Exception) -> StepwardError:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    "error",
    [
        TransportError("queue: closed"),
        StoreUnavailable("busy"),
        _caused(TransportError("queue"), StoreUnavailable("busy")),
    ],
    ids=["closed", "busy", "queue busy"],
)
async def test_nothing_is_ordered_when_the_queue_cannot_be_reached(
    ada: httpx.AsyncClient, door: FakeDoor, error: StepwardError
) -> None:
    await fill_basket(ada)
    form = await checkout(ada)
    door.error = error
    answer = await ada.post("/orders", data=form)
    assert answer.status_code == 503 and "Nothing was ordered" in answer.text
    fields = Page(answer).fields
    assert {name: fields[name]["value"] for name in form} == form, "the page can send it again"
    assert (await ada.get(f"/orders/{form['order']}")).status_code == 404
    assert "Stoneware teapot" in (await ada.get("/basket")).text
    door.error = None
    again = await ada.post("/orders", data={**form, "address": "Elm Street 7"})
    assert again.headers["location"] == f"/orders/{form['order']}"
    assert door.posted[0].data["address"] == "Elm Street 7", "nothing was ordered, so the form may change"
    assert "There is nothing in it yet." in (await ada.get("/basket")).text


@pytest.mark.parametrize("cause", [CommitUnknown("commit"), TimeoutError("no confirmation")])
async def test_an_order_in_doubt_stays_what_it_was(ada: httpx.AsyncClient, door: FakeDoor, cause: Exception) -> None:
    door.error = _caused(TransportError("queue"), cause)
    answer = await order(ada)
    assert answer.status_code == 503 and "could not tell" in answer.text and "Nothing was ordered" not in answer.text
    assert "order-01" not in (await ada.get("/orders")).text
    assert (await ada.get("/orders/order-01")).status_code == 404
    door.error = None
    assert (await order(ada, address="Elm Street 7")).status_code == 303
    assert door.posted[0].data["address"] == "Harbour Street 5"


async def test_an_event_about_an_order_in_doubt_settles_it(
    ada: httpx.AsyncClient, storefront: Storefront, door: FakeDoor
) -> None:
    door.error = CommitUnknown("commit")
    await order(ada)
    await heard(storefront, door, "order-01", RECEIVED)
    assert (await order(ada)).status_code == 303
    assert "order-01" in (await ada.get("/orders")).text


async def test_a_failure_beside_a_success_takes_nothing_back(ada: httpx.AsyncClient, records: Records) -> None:
    """Two of the same form at once: one is posted, and then the other is known to have failed."""
    await order(ada)
    records.forget("order-01")
    assert (await ada.get("/orders/order-01")).status_code == 200


async def test_my_orders_are_a_bounded_list_with_the_newest_first(ada: httpx.AsyncClient, records: Records) -> None:
    for number in range(103):
        await order(ada, order=f"order-{number:03}")
    page = (await ada.get("/orders")).text
    listed = re.findall(r'href="/orders/(order-\d+)"', page)
    assert len(listed) == 100 and listed[0] == "order-102" and listed == sorted(listed, reverse=True)
