"""What the shop sells, at which price, and how much of it one order may ask for.

The storefront shows these products and the submission process charges for them: prices never travel in a message.
"""

from __future__ import annotations

import msgspec

MOST_LINES = 20
MOST_OF_ONE = 500
LONGEST_NAME = 80
LONGEST_ADDRESS = 200


class Product(msgspec.Struct, frozen=True):
    """One thing on the shelf; its blurb is what the shop says about it."""

    id: str
    name: str
    price_cents: int
    blurb: str


SHELF = (
    Product(
        "teapot",
        "Stoneware teapot",
        4200,
        "Round, patient, and good for four cups. The lid stays on when you pour, which is rarer than it should be.",
    ),
    Product(
        "kettle",
        "Copper kettle",
        6850,
        "Boils a litre and a half and says so in a low, friendly whistle. Grows more handsome with every year.",
    ),
    Product(
        "cups",
        "Pair of cups",
        2450,
        "Two cups without handles, glazed by hand and never quite alike. Warm in the hand, steady on the table.",
    ),
    Product(
        "caddy",
        "Tea caddy",
        1890,
        "Holds a quarter pound and closes with a sigh. What is inside stays dry, dark and worth waiting for.",
    ),
    Product(
        "trivet",
        "Iron trivet",
        1650,
        "Three short legs and a cast-iron star. It stands between a hot pot and your good table.",
    ),
    Product(
        "lantern",
        "Storm lantern",
        5400,
        "Brass and clear glass, for the walk from the gate. It burns eight hours and minds no weather.",
    ),
    Product(
        "bell",
        "Dinner bell",
        3250,
        "One swing and the whole garden knows. Cast from one piece, with a handle of turned beech.",
    ),
    Product(
        "anvil",
        "Bench anvil",
        19900,
        "Forty kilograms of forged steel on a foot of oak. It has never let anybody down, only fallen on them.",
    ),
)
PRODUCTS: dict[str, Product] = {product.id: product for product in SHELF}
