"""`python -m examples.shop.services NAME --port PORT --ledger FILE`: run one remote service."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

import msgspec

from examples.shop.services.mail import MAIL
from examples.shop.services.parcel import PARCEL
from examples.shop.services.payment import PAYMENT
from examples.shop.services.server import LOOPBACK, serve
from examples.shop.services.service import Quantity, Service
from examples.shop.services.stock import INITIAL_QUANTITIES, stock


def main() -> None:
    """Read the command line and serve."""
    parser = argparse.ArgumentParser(prog="python -m examples.shop.services", description=__doc__)
    parser.add_argument("name", choices=["stock", "payment", "parcel", "mail"])
    parser.add_argument("--host", default=LOOPBACK, help=f"address to listen on; {LOOPBACK} unless given")
    parser.add_argument("--port", type=int, default=0, help="port; 0 takes a free one")
    parser.add_argument("--ledger", type=Path, required=True, help="SQLite file of what the service did")
    parser.add_argument(
        "--stock",
        type=_quantities,
        default=INITIAL_QUANTITIES,
        metavar="JSON",
        help='initial quantities, such as {"teapot": 100}; only the stock service reads them',
    )
    parser.add_argument("--tethered", action="store_true", help="end when standard input is closed")
    arguments = parser.parse_args()
    place = (arguments.host, arguments.port)
    service = service_of(arguments.name, arguments.stock)
    serve(service, arguments.ledger, place, is_tethered=arguments.tethered)


def service_of(name: str, quantities: Mapping[str, int] = INITIAL_QUANTITIES) -> Service:
    """The service of that name; only stock reads the quantities."""
    return {service.name: service for service in (stock(quantities), PAYMENT, PARCEL, MAIL)}[name]


def _quantities(text: str) -> dict[str, int]:
    try:
        return msgspec.json.decode(text, type=dict[str, Quantity])
    except msgspec.DecodeError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


if __name__ == "__main__":
    main()
