"""``python -m stepward.transport.asyncapi``: the document, as docs/asyncapi.json holds it."""

from __future__ import annotations

import sys

try:
    from stepward.transport.asyncapi.document import text
except ImportError as error:
    sys.exit(f"asyncapi: expected the brokers' clients, found one missing ({error}); install stepward[nats,rabbitmq]")

sys.stdout.write(text())
