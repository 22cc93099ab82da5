"""Restate at the work of the comparison: the handlers and the client in this process, the server beside it."""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit

import aiohttp
import hypercorn.asyncio
import hypercorn.config
import restate

from benchmarks.peers.contract import STEPS, DurableProgram, holding, run, until

service = restate.Service("bench")
executed = list[None]()
"""One for each handler of one step that has come to its end."""
CONNECTIONS = 1_024


async def act(text: str, n: int) -> dict[str, object]:
    """The step."""
    return {"ok": True, "n": n}


@service.handler()
async def one(ctx: restate.Context, text: str) -> dict[str, object]:
    """One step."""
    result = await ctx.run_typed("act", act, text=text, n=1)
    executed.append(None)
    return result


@service.handler()
async def ten(ctx: restate.Context, text: str) -> int:
    """Ten steps."""
    total = 0
    for n in range(STEPS):
        await ctx.run_typed("act", act, text=text, n=n)
        total += n
    return total


@service.handler()
async def half(ctx: restate.Context, text: str) -> int:
    """Two steps, of which the second is held."""
    await ctx.run_typed("act", act, text=text, n=1)
    await ctx.run_typed("hold", holding.hold)
    return 2


class RestateProgram(DurableProgram):
    """The address has three ports: ``http://127.0.0.1:INGRESS/ADMIN/HANDLERS``."""

    async def start(self) -> None:
        """Serve the handlers over HTTP/2, and register them at the server."""
        place = urlsplit(self.address)
        admin, handlers = place.path.strip("/").split("/")
        self._ingress = f"http://127.0.0.1:{place.port}"
        config = hypercorn.config.Config()
        config.bind = [f"127.0.0.1:{handlers}"]
        config.loglevel = "ERROR"
        self._ended = asyncio.Event()
        app = restate.app([service])
        self._serving = asyncio.create_task(hypercorn.asyncio.serve(app, config, shutdown_trigger=self._ended.wait))
        self._http = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=CONNECTIONS), timeout=aiohttp.ClientTimeout(total=None)
        )
        await asyncio.sleep(0)
        deployment = {"uri": f"http://127.0.0.1:{handlers}", "force": True}
        await self._post(f"http://127.0.0.1:{admin}/deployments", deployment)

    async def stop(self) -> None:
        """Stop serving."""
        await self._http.close()
        self._ended.set()
        await self._serving

    async def ten(self, n: int) -> None:
        """One call of the ingress."""
        await self._post(f"{self._ingress}/bench/ten", f"order {n}")

    async def queue(self, n: int) -> None:
        """One message to the handler of one step."""
        await self._post(f"{self._ingress}/bench/one/send", f"order {n}")

    async def drained(self, tasks: int) -> None:
        """Wait until the handlers have come to their ends."""

        async def ended() -> int:
            return len(executed)

        await until(ended, tasks)

    async def submit_held(self, n: int) -> None:
        """One message whose key lets another process wait for its result."""
        await self._post(f"{self._ingress}/bench/half/send", f"order {n}", key=f"held-{n}")

    async def held_result(self, n: int) -> None:
        """A call with the same key attaches to the invocation."""
        await self._post(f"{self._ingress}/bench/half", f"order {n}", key=f"held-{n}")

    async def _post(self, url: str, body: object, *, key: str | None = None) -> None:
        headers = {} if key is None else {"idempotency-key": key}
        async with self._http.post(url, json=body, headers=headers) as response:
            text = await response.text()
            if response.status >= 400:
                raise RuntimeError(f"restate: expected success, found {response.status}: {text}")


if __name__ == "__main__":
    run(RestateProgram)
