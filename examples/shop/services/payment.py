"""The payment service: charges the customer's card for an order, and refunds it."""

from __future__ import annotations

from examples.shop.services.service import PositiveCount, Service, ServiceOrderBody


class Charge(ServiceOrderBody, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How much to charge for an order."""

    amount_cents: PositiveCount


PAYMENT = Service(name="payment", action="charge", body=Charge, reference="charge_id", undo="refund")
