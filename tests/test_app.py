"""The application as its users hold it: on the real clock, with threads, and through the blocking client."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future
from pathlib import Path

import pytest

from stepward import Agent, App, Client, TaskFailed, Unrecoverable, current_step, step, wait_for, workflow
from stepward.errors import DeclarationError, SettingsError, StoreUnusable

tools = Agent("tools")


@tools.operation()
def blocking(number: int) -> list[str]:
    return [threading.current_thread().name, str(number)]


@step()
def in_thread(number: int) -> list[str]:
    return [threading.current_thread().name, current_step().name]


@step()
def refusing() -> None:
    raise Unrecoverable("not today", code=7)


@workflow
async def threads() -> list[list[str]]:
    return [await in_thread(1), await blocking(2)]


@workflow
async def refused() -> None:
    await refusing()


@workflow
async def patient() -> object:
    return await wait_for("go")


@pytest.fixture
def app(tmp_path: Path) -> App:
    return App(
        "tools", workflows=[threads, refused, patient], agents=[tools], store=f"sqlite:///{tmp_path / 'tools.db'}"
    )


async def test_plain_functions_run_in_threads(app: App) -> None:
    main = threading.current_thread().name
    async with app.running(), app.client() as client:
        local, remote = await (await client.submit(threads)).result(timeout=20)
    assert main not in (local[0], remote[0])
    assert (local[1], remote[1]) == ("in_thread", "2")


async def test_plain_functions_do_not_hold_up_the_loop(app: App) -> None:
    """As many as there is room for run at once."""
    meeting = threading.Barrier(64, timeout=20)

    @step()
    def meet() -> int:
        return meeting.wait()

    @workflow
    async def party() -> list[int]:
        return sorted(await asyncio.gather(*[meet() for _ in range(64)]))

    app = App("party", workflows=[party], store=app.settings.store.replace("tools.db", "party.db"))
    async with app.running(), app.client() as client:
        assert await (await client.submit(party)).result(timeout=20) == list(range(64))


def test_a_step_that_never_ends_keeps_no_process_from_ending(app: App) -> None:
    entered, gate, daemons = threading.Event(), threading.Event(), list[bool]()

    @step()
    def hang() -> None:
        daemons.append(threading.current_thread().daemon)
        entered.set()
        gate.wait()

    @workflow
    async def hanging() -> None:
        await hang()

    app = App("hanging", workflows=[hanging], store=app.settings.store.replace("tools.db", "hanging.db"))

    async def process() -> None:
        async with app.running(), app.client() as client:
            await client.submit(hanging)
            await asyncio.to_thread(entered.wait, 20)

    running = threading.Thread(target=lambda: asyncio.run(process()))
    running.start()
    running.join(timeout=30)
    is_over = not running.is_alive()
    gate.set()
    running.join()
    assert (is_over, daemons) == (True, [True])


async def test_a_refusal_in_a_thread_is_raised(app: App) -> None:
    async with app.running(), app.client() as client:
        with pytest.raises(TaskFailed, match="not today") as caught:
            await (await client.submit(refused)).result(timeout=20)
    assert caught.value.cause["data"] == {"code": 7}


async def test_the_blocking_client_does_what_the_other_does(app: App) -> None:
    def script() -> object:
        with app.sync_client() as client:
            handle = client.submit(patient, id="p")
            assert client.task("p").status().id == "p"
            handle.signal("go", 5)
            return handle.result(timeout=20)

    async with app.running():
        assert await asyncio.to_thread(script) == 5


@pytest.mark.parametrize("makes_client_first", [False, True])
async def test_a_client_on_the_event_loop_of_a_thread_has_a_connection_of_its_own(
    app: App, makes_client_first: bool
) -> None:
    async def script(client: Client) -> object:
        async with client:
            handle = await client.submit(patient)
            await handle.signal("go", 5)
            return await handle.result(timeout=20)

    async def on_loop() -> object:
        return await script(app.client())

    def in_thread_of_its_own() -> None:
        loop_of_thread = script(app.client()) if makes_client_first else on_loop()
        result.set_result(asyncio.run(loop_of_thread))

    result: Future[object] = Future()
    async with app.running():
        threading.Thread(target=in_thread_of_its_own, daemon=True).start()
        async with asyncio.timeout(20):
            assert await asyncio.wrap_future(result) == 5


async def test_agents_are_chosen_by_name(app: App) -> None:
    with pytest.raises(DeclarationError, match="expected some of tools, found others"):
        async with app.running(agents=["others"]):
            pass
    async with app.running(agents=["tools"], supervisor=False), app.client() as client:
        assert (await (await client.submit(threads)).result(timeout=20))[1][1] == "2"


async def test_one_agent_is_declared_once(app: App) -> None:
    with pytest.raises(DeclarationError, match="expected one declaration, found 2"):
        App("x", agents=[tools, Agent("tools")])


async def test_an_object_that_is_no_agent_is_refused() -> None:
    with pytest.raises(DeclarationError, match="expected Agents, found 3"):
        App("x", agents=[3])  # type: ignore[list-item]


@pytest.mark.parametrize("name", ["", "a b", "x" * 101, "a/b"])
async def test_names_of_applications(name: str) -> None:
    with pytest.raises(DeclarationError, match="expected a name of 1 to 100"):
        App(name)


async def test_an_unknown_setting_is_refused() -> None:
    with pytest.raises(SettingsError, match="did you mean 'lease'"):
        App("x", leese="3s")


async def test_the_file_of_another_application_is_refused(app: App) -> None:
    async with app.running():
        pass
    with pytest.raises(StoreUnusable, match="tools"):
        async with App("others", store=app.settings.store).running():
            pass


async def test_a_version_that_this_process_does_not_serve_waits_for_one_that_does(app: App, tmp_path: Path) -> None:
    @workflow(name="threads", version="2")
    async def newer() -> str:
        return "newer"

    async with app.running(), app.client() as client:
        handle = await client.submit(newer)
        assert (await handle.status()).state == "pending"
    other = App("tools", workflows=[newer], store=f"sqlite:///{tmp_path / 'tools.db'}")
    async with other.running(), other.client() as client:
        assert await client.task(handle.id).result(timeout=20) == "newer"
