"""`python -m examples.shop.services.control --stock URL --payment URL --parcel URL --mail URL`: run the panel."""

from __future__ import annotations

import argparse
from urllib.parse import urlsplit

from examples.shop.services.control.server import LOOPBACK, serve
from examples.shop.services.control.web import build

NAMES = ("stock", "payment", "parcel", "mail")


def main() -> None:
    """Read the command line and serve."""
    parser = argparse.ArgumentParser(prog="python -m examples.shop.services.control", description=__doc__)
    parser.add_argument("--host", default=LOOPBACK, help=f"address to listen on; {LOOPBACK} unless given")
    parser.add_argument("--port", type=int, default=0, help="port to listen on; 0 takes a free one")
    for name in NAMES:
        parser.add_argument(f"--{name}", type=_url, required=True, metavar="URL", help=f"where {name} listens")
    parser.add_argument("--storefront", type=_url, metavar="URL", help="the shop, to link to")
    parser.add_argument("--tethered", action="store_true", help="end when standard input is closed")
    arguments = parser.parse_args()
    panel = build({name: getattr(arguments, name) for name in NAMES}, arguments.storefront)
    serve(panel, arguments.host, arguments.port, is_tethered=arguments.tethered)


def _url(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise argparse.ArgumentTypeError(f"expected a URL such as http://127.0.0.1:8102, found {text!r}")
    return text.rstrip("/")


if __name__ == "__main__":
    main()
