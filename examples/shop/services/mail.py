"""The mail service: writes to the customer. What is sent is sent: there is no undo."""

from __future__ import annotations

from examples.shop.services.service import Service, ServiceOrderBody, ShortText


class Send(ServiceOrderBody, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which letter to send about an order."""

    template: ShortText


MAIL = Service(name="mail", action="send", body=Send, reference="message_id")
