"""Flask: the example, its errors, and a client for each process that the server forks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import flask
import pytest

from examples.frameworks.orders import make_app
from examples.frameworks.with_flask import service
from stepward import App, Refused
from stepward.integrations.flask import Stepward, client
from stepward.integrations.process_client import ProcessClient

ORDER = {"number": "A-1", "cents": 4200}


@pytest.fixture
def app(tmp_path: Path) -> App:
    return make_app(f"sqlite:///{tmp_path}/shop.db")


@pytest.fixture
def web(app: App) -> Iterator[flask.Flask]:
    web = service(app)
    yield web
    web.extensions["stepward"].close()


def test_a_request_becomes_a_task_and_its_repetition_starts_nothing(web: flask.Flask) -> None:
    with web.test_client() as http:
        answers = [http.post("/orders", json=ORDER, headers={"Idempotency-Key": "A-1"}) for _ in range(2)]
        assert [(each.status_code, each.get_json()) for each in answers] == [(202, {"task": "A-1"})] * 2
        assert http.get("/orders/A-1").get_json() == {"state": "pending"}


def test_wrong_requests_are_answered_by_problem_documents(web: flask.Flask) -> None:
    with web.test_client() as http:
        http.post("/orders", json=ORDER, headers={"Idempotency-Key": "A-1"})
        conflict = http.post("/orders", json={**ORDER, "cents": 1}, headers={"Idempotency-Key": "A-1"})
        assert (conflict.status_code, conflict.content_type) == (409, "application/problem+json")
        assert http.get("/orders/A-2").status_code == 404


def test_an_application_without_the_extension_is_named() -> None:
    with flask.Flask("bare").app_context(), pytest.raises(Refused, match=r"expected Stepward\(app\).init_app\(bare\)"):
        client()


def test_a_factory_adds_the_extension_later(app: App) -> None:
    extension, web = Stepward(app), flask.Flask("shop")
    extension.init_app(web)
    with web.app_context():
        assert client().tasks() == []
    extension.close()


def test_a_forked_worker_opens_a_client_of_its_own(app: App) -> None:
    clients = ProcessClient(app)
    clients.get().submit("fulfil", "A-1", 4200, id="A-1")
    child = os.fork()
    if child == 0:
        code = 1
        try:
            clients.get().submit("fulfil", "A-2", 4200, id="A-2")
            clients.close()
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert sorted(task.id for task in clients.get().tasks()) == ["A-1", "A-2"]
    clients.close()
