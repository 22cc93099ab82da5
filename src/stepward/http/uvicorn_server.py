"""Serves the application with uvicorn, with limits on connections."""

from __future__ import annotations

import asyncio
import logging
import signal

import uvicorn

from stepward.http.access.incoming_request import HEADER_BYTES
from stepward.http.asgi import AsgiApplication
from stepward.http.start_rules import StartPlan

CONNECTIONS = 2_000
"""Most concurrent connections; further requests are answered 503."""
KEEP_ALIVE_SECONDS = 5
DRAIN_SECONDS = 5
"""Seconds that running answers may take after a signal; streams are cut off then."""


class ConsoleServer(uvicorn.Server):
    """Ends in good order at SIGTERM and SIGINT, and does not raise the signal again."""

    async def serve_until_signal(self) -> None:
        """Serves until a signal; a second signal ends it at once."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.handle_exit, number, None)
        await self._serve()


def serve(application: AsgiApplication, plan: StartPlan) -> bool:
    """Serves until SIGTERM or SIGINT; False if the address was not available."""
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    server = ConsoleServer(
        uvicorn.Config(
            application,
            host=plan.address.host,
            port=plan.address.port,
            ssl_certfile=plan.certificate,
            ssl_keyfile=plan.key,
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            ws="none",
            http="h11",
            h11_max_incomplete_event_size=HEADER_BYTES,
            limit_concurrency=CONNECTIONS,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=DRAIN_SECONDS,
        )
    )
    try:
        asyncio.run(server.serve_until_signal())
    except SystemExit:  # uvicorn's, where it cannot listen
        return False
    return True
