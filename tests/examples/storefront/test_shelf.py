"""The shelf and the basket over HTTP."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
import pytest

from examples.orders.catalogue import MOST_OF_ONE, PRODUCTS
from examples.shop.storefront.pages import STATIC
from examples.shop.storefront.records import Records
from tests.examples.storefront.conftest import Visit
from tests.examples.storefront.customers import Page


async def add(customer: httpx.AsyncClient, product: str = "teapot", quantity: object = 1) -> httpx.Response:
    return await customer.post("/basket", data={"product": product, "quantity": str(quantity)})


async def test_shows_every_product_with_its_price_and_a_picture(ada: httpx.AsyncClient) -> None:
    page = (await ada.get("/")).text
    assert "€42.00" in page and "€199.00" in page
    for product in PRODUCTS.values():
        assert product.name in page and f'href="/products/{product.id}"' in page
        picture = await ada.get(re.findall(rf"/static/pictures/{product.id}[^\"]+", page)[0])
        assert picture.headers["content-type"] == "image/svg+xml"
        assert product.blurb in (await ada.get(f"/products/{product.id}")).text


async def test_pages_load_nothing_from_other_hosts(ada: httpx.AsyncClient) -> None:
    for path in ("/", "/basket", "/checkout", "/orders", "/nowhere", "/static/shop.css", "/static/live.js"):
        assert not re.search(r"(https?:)?//[a-z]|url\(|@import", (await ada.get(path)).text, re.IGNORECASE), path
    for picture in STATIC.rglob("*.svg"):
        assert "href" not in picture.read_text() and "<script" not in picture.read_text()


async def test_the_basket_adds_changes_and_removes(ada: httpx.AsyncClient) -> None:
    assert (await ada.get("/basket")).text.count("There is nothing in it yet.") == 1
    added = await add(ada, "teapot", 2)
    assert (added.status_code, added.headers["location"]) == (303, "/basket")
    await add(ada, "teapot", 1)
    await add(ada, "kettle", " 1 ")
    page = await ada.get("/basket")
    assert Page(page).fields["quantity-teapot"]["value"] == "3"
    assert "€194.50" in page.text and "4 things" in page.text
    await ada.post("/basket/change", data={"product": ["teapot", "kettle"], "quantity": ["1", "0"]})
    page = await ada.get("/basket")
    assert Page(page).fields["quantity-teapot"]["value"] == "1"
    assert "quantity-kettle" not in page.text and "1 thing<" in page.text
    await ada.post("/basket/remove", data={"product": "teapot"})
    assert "There is nothing in it yet." in (await ada.get("/basket")).text


@pytest.mark.parametrize("typed", ["", "0", "-1", "1.5", "two", "501", "9" * 5000, "٣", "²", "1 0"])
async def test_refuses_quantities_that_are_none_beside_the_field(ada: httpx.AsyncClient, typed: str) -> None:
    answer = await add(ada, "kettle", typed)
    assert answer.status_code == 400
    assert Page(answer).error("quantity") == "A whole number from 1 to 500, please."
    assert Page(answer).fields["quantity"]["value"] == typed
    assert "There is nothing in it yet." in (await ada.get("/basket")).text


async def test_refuses_to_hoard(ada: httpx.AsyncClient) -> None:
    await add(ada, "kettle", MOST_OF_ONE - 1)
    answer = await add(ada, "kettle", 2)
    assert Page(answer).error("quantity") == "At most 500 of one thing, please: 499 are in your basket already."
    assert (await add(ada, "kettle", 1)).status_code == 303


async def test_a_change_is_made_whole_or_not_at_all(ada: httpx.AsyncClient) -> None:
    await add(ada, "teapot", 2)
    await add(ada, "kettle", 2)
    answer = await ada.post("/basket/change", data={"product": ["teapot", "kettle"], "quantity": ["5", "many"]})
    assert answer.status_code == 400
    page = Page(answer)
    assert page.error("quantity-kettle") == "A whole number from 0 to 500, please."
    assert (page.fields["quantity-teapot"]["value"], page.fields["quantity-kettle"]["value"]) == ("5", "many")
    assert "aria-invalid" not in page.fields["quantity-teapot"]
    assert Page(await ada.get("/basket")).fields["quantity-teapot"]["value"] == "2"


async def test_refuses_products_that_are_not_sold(ada: httpx.AsyncClient) -> None:
    for answer in (
        await ada.get("/products/unicorn"),
        await add(ada, "unicorn"),
        await add(ada, ""),
        await add(ada, "unicorn" * 1000),
        await ada.post("/basket/remove", data={"product": "<b>"}),
        await ada.post("/basket/change", data={"product": "unicorn", "quantity": "1"}),
    ):
        assert answer.status_code == 404
        assert "We do not sell" in answer.text and "<b>" not in answer.text
        assert "unicorn" * 10 not in answer.text
    assert (await ada.post("/basket/change", data={"product": "teapot"})).status_code == 400


async def test_each_visitor_has_a_basket_of_their_own(visit: Visit) -> None:
    ada, bela = visit(), visit()
    await add(ada)
    assert "There is nothing in it yet." in (await bela.get("/basket")).text
    assert "Stoneware teapot" in (await ada.get("/basket")).text


async def test_baskets_outlive_the_storefront_but_not_for_ever(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    first = Records(path)
    first.set_basket("visitor", {"teapot": 2})
    first.close()
    second = Records(path)
    assert [line.quantity for line in second.basket("visitor")] == [2]
    second._connection.execute("UPDATE basket_line SET changed_at = datetime('now', '-31 days')")
    second.close()
    third = Records(path)
    assert third.basket("visitor") == ()
    third.close()
