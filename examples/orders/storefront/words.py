"""The customer's words: what to say about an order's story, and nothing that only a programmer would read. Pure."""

from __future__ import annotations

from examples.orders.storefront.order import Order
from examples.orders.storefront.story import CHARGE, PARCEL, STOCK, Money, State, Story, Trouble

HEADLINES = {
    State.SENT: "Your order is with us",
    State.RECEIVED: "Your order is with us",
    State.REFUSED: "We could not take your order",
    State.WORKING: "We are on it",
    State.DELAYED: "This takes a little longer",
    State.WAITING: "Your order is waiting",
    State.PAUSED: "Your order is paused",
    State.UNDOING: "We are taking your order back",
    State.DELIVERED: "On its way to you",
    State.UNDONE: "Your order was taken back",
    State.CANCELLED: "Your order was cancelled",
    State.FAILED: "Somebody is looking into it",
}
BADGES = {
    State.UNDOING: "being taken back",
    State.UNDONE: "taken back",
    State.FAILED: "being seen to",
}
GOES_ON = "Nothing is lost: we try again by ourselves."
SEEN_TO = "Something needs a person's eye. We have been told and will see to it; you need do nothing."
SAID = {
    State.SENT: "It is in good hands: you may close this page and come back later.",
    State.RECEIVED: "It is in good hands: you may close this page and come back later.",
    State.REFUSED: "Something in it was not as we need it. Nothing was ordered and no money taken: please order anew.",
    State.WAITING: "We wait a little and then go on by ourselves.",
    State.PAUSED: "We have stopped for a moment and go on soon. Nothing is lost.",
}
SERVICES = {
    STOCK: "The warehouse",
    CHARGE: "The payment service",
    PARCEL: "The parcel service",
    "mail.send": "The service that writes our letters",
}
OUR_BOOKS = "Our order book"
MONEY = {
    Money.KEPT: "no money was taken.",
    Money.IN_DOUBT: "no money was kept: had any been taken, it was given back.",
    Money.TAKEN: "your money was given back.",
}
NO_ADDRESS = "There was no address to send your parcel to."
REFUSED = {
    (CHARGE, 402): "Your card was declined.",
    (CHARGE, None): "The payment could not be made.",
    (STOCK, 409): "We are sorry: there is not enough left of what you ordered: {goods}.",
    (PARCEL, None): "The parcel service could not take a parcel to your address.",
}
REFUSED_OTHERWISE = "{service} could not do its part."


def say(story: Story, order: Order, doing: str) -> str:
    """What is going on, or what went wrong and what became of it; `doing` is what a calm order is at."""
    match story.state:
        case State.DELAYED if story.trouble is not None:
            return f"{_service(story.trouble)} does not answer at the moment. {GOES_ON}"
        case State.UNDOING:
            return f"{_why(story, order)} We are taking everything back.".lstrip()
        case State.UNDONE | State.CANCELLED:
            return f"{_why(story, order)} Everything has been taken back; {MONEY[story.money]}".lstrip()
        case State.FAILED:
            return f"{_why(story, order)} {SEEN_TO}".lstrip()
        case State.DELIVERED:
            return "Your parcel is with the parcel service. Thank you for your order!"
        case state:
            return SAID.get(state, doing)


def _why(story: Story, order: Order) -> str:
    """The reason, as far as one can tell it; empty if there is none to tell."""
    trouble = story.trouble
    if trouble is None or story.state is State.CANCELLED:
        return ""
    if not trouble.is_final:
        return f"{_service(trouble)} did not answer for too long."
    if trouble.name == PARCEL and not order.address:
        return NO_ADDRESS
    words = REFUSED.get((trouble.name, trouble.status)) or REFUSED.get((trouble.name, None), REFUSED_OTHERWISE)
    return words.format(service=_service(trouble), goods=_goods(trouble, order))


def _service(trouble: Trouble) -> str:
    return SERVICES.get(trouble.name, OUR_BOOKS)


def _goods(trouble: Trouble, order: Order) -> str:
    line = order.lines[min(trouble.occurrence, len(order.lines)) - 1]
    return f"{line.quantity} × {line.name}"
