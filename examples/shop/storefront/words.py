"""The customer's words: what to say about an order's story, and nothing that only a programmer would read. Pure."""

from __future__ import annotations

from examples.shop.storefront.order import PlacedOrder
from examples.shop.storefront.story import CHARGE, PARCEL, STOCK, Money, Story, StoryState, Trouble

HEADLINES = {
    StoryState.SENT: "Your order is with us",
    StoryState.RECEIVED: "Your order is with us",
    StoryState.REFUSED: "We could not take your order",
    StoryState.WORKING: "We are on it",
    StoryState.DELAYED: "This takes a little longer",
    StoryState.WAITING: "Your order is waiting",
    StoryState.PAUSED: "Your order is paused",
    StoryState.UNDOING: "We are taking your order back",
    StoryState.DELIVERED: "On its way to you",
    StoryState.UNDONE: "Your order was taken back",
    StoryState.CANCELLED: "Your order was cancelled",
    StoryState.FAILED: "Somebody is looking into it",
}
BADGES = {
    StoryState.UNDOING: "being taken back",
    StoryState.UNDONE: "taken back",
    StoryState.FAILED: "being seen to",
}
GOES_ON = "Nothing is lost: we try again by ourselves."
SEEN_TO = "Something needs a person's eye. We have been told and will see to it; you need do nothing."
SAID = {
    StoryState.SENT: "It is in good hands: you may close this page and come back later.",
    StoryState.RECEIVED: "It is in good hands: you may close this page and come back later.",
    StoryState.REFUSED: "Something in it was not right. Nothing was ordered and no money taken: please order again.",
    StoryState.WAITING: "We wait a little and then go on by ourselves.",
    StoryState.PAUSED: "We have stopped for a moment and go on soon. Nothing is lost.",
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


def say(story: Story, order: PlacedOrder, doing: str) -> str:
    """The present step, or the failure and its consequence; `doing` is the step of an order without failure."""
    match story.state:
        case StoryState.DELAYED if story.trouble is not None:
            return f"{_service(story.trouble)} does not answer at the moment. {GOES_ON}"
        case StoryState.UNDOING:
            return f"{_why(story, order)} We are taking everything back.".lstrip()
        case StoryState.UNDONE | StoryState.CANCELLED:
            return f"{_why(story, order)} Everything has been taken back; {MONEY[story.money]}".lstrip()
        case StoryState.FAILED:
            return f"{_why(story, order)} {SEEN_TO}".lstrip()
        case StoryState.DELIVERED:
            return "Your parcel is with the parcel service. Thank you for your order!"
        case state:
            return SAID.get(state, doing)


def _why(story: Story, order: PlacedOrder) -> str:
    """The reason, as far as one can tell it; empty if there is none to tell."""
    trouble = story.trouble
    if trouble is None or story.state is StoryState.CANCELLED:
        return ""
    if not trouble.is_final:
        return f"{_service(trouble)} did not answer for too long."
    if trouble.name == PARCEL and not order.address:
        return NO_ADDRESS
    words = REFUSED.get((trouble.name, trouble.status)) or REFUSED.get((trouble.name, None), REFUSED_OTHERWISE)
    return words.format(service=_service(trouble), goods=_goods(trouble, order))


def _service(trouble: Trouble) -> str:
    return SERVICES.get(trouble.name, OUR_BOOKS)


def _goods(trouble: Trouble, order: PlacedOrder) -> str:
    line = order.lines[min(trouble.occurrence, len(order.lines)) - 1]
    return f"{line.quantity} × {line.name}"
