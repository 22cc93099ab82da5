"""The parcel service: books a parcel for an order, and cancels it."""

from __future__ import annotations

from examples.shop.services.service import Service, ServiceOrderBody, ShortText


class Create(ServiceOrderBody, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where an order goes."""

    address: ShortText


PARCEL = Service(name="parcel", action="create", body=Create, reference="tracking", undo="cancel")
