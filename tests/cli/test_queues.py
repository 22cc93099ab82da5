"""Submissions, response queues and dead letters from the terminal."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from stepward.cli.input.targets import load_app
from stepward.client import session_of
from stepward.model.messages.requests import submission_queue

from .conftest import SHOP, Stepward, one_line
from .processes import Process, done, running
from .stores import as_json

OFFICE = f"{Path(__file__).with_name('office.py')}:app"
STORE = "sqlite:///stepward.db"
REPLIES = "replies.office.web"
LETTER = {"number", "queue", "body", "reason", "tries", "buried_at"}
EVENT = {"id", "type", "subject", "sequence", "time", "data", "store"}
ALONE = {"scheduler": False, "agents": False, "supervisor": False}


@pytest.fixture(scope="session")
def buried(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with three dead letters: a refused order, one that is no JSON, and no order at all."""
    folder = tmp_path_factory.mktemp("buried")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        asyncio.run(_bury())
    return folder / "stepward.db"


@pytest.fixture
def letters(empty: Path, buried: Path) -> Path:
    """A copy of that store in the current folder."""
    return Path(shutil.copy(buried, empty / "stepward.db"))


async def _bury() -> None:
    app = load_app(OFFICE)
    queue = submission_queue("office", "orders")
    async with app.running(**ALONE), app.client() as client:
        for body in (_message("nothing"), b"\xff\x1b[31m", _message(["a", "list"])):
            count = len(await client.dead_letters())
            await session_of(client).store.messages.put(queue, [(body, None)])
            while len(await client.dead_letters()) == count:  # noqa: ASYNC110  another actor's act sends no event here
                await asyncio.sleep(0.005)


def _message(data: Any, id: str = "bad") -> bytes:
    event = {"specversion": "1.0", "id": id, "source": "/web", "type": "order", "data": data}
    return json.dumps(event).encode()


def test_dead_letters_are_listed_newest_first(letters: Path, stepward: Stepward) -> None:
    found = as_json(stepward, "dead-letters")
    assert [set(letter) for letter in found] == [LETTER] * 3
    assert [letter["number"] for letter in found] == [3, 2, 1]
    assert found[0]["queue"] == "submissions.office.orders"
    assert json.loads(found[2]["body"])["data"] == "nothing"
    assert found[1]["body"] == "\\xff\x1b[31m"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", found[0]["buried_at"])
    assert [letter["number"] for letter in as_json(stepward, "dead-letters", "--limit", "1")] == [3]


@pytest.mark.parametrize("columns", ["60", "80", "132"])
def test_dead_letters_fit_the_terminal_and_do_nothing_to_it(letters: Path, stepward: Stepward, columns: str) -> None:
    result = stepward("dead-letters", COLUMNS=columns)
    lines = result.stdout.splitlines()
    assert max(cell_len(line) for line in lines) <= int(columns)
    assert result.stdout.replace("\n", "").isprintable()
    assert [line.split()[0] for line in lines[2:]] == ["3", "2", "1"]
    assert len(lines) == 5


def test_an_empty_list_of_dead_letters_prints_a_sentence(store: Path, stepward: Stepward) -> None:
    assert stepward("dead-letters").stdout == "No dead letters.\n"
    assert as_json(stepward, "dead-letters") == []


def test_a_truncated_listing_is_marked(letters: Path, stepward: Stepward) -> None:
    assert stepward("dead-letters", "--limit", "2").stdout.endswith("\nThe newest 2; --limit shows more.\n")


@pytest.mark.parametrize(("verb", "said"), [("put-back", "put back"), ("discard", "thrown away")])
def test_dead_letters_are_put_back_or_thrown_away_by_number(
    letters: Path, stepward: Stepward, verb: str, said: str
) -> None:
    result = stepward("dead-letters", verb, "1", "3", "1")
    assert (result.stdout, result.stderr, result.exit_code) == (
        f"dead letter 1: {said}\ndead letter 3: {said}\n",
        "",
        0,
    )
    assert [letter["number"] for letter in as_json(stepward, "dead-letters")] == [2]
    audits = [each for each in as_json(stepward, "audit") if each["act"] == verb.replace("-", "_")]
    assert [audit["details"]["dead_letter"] for audit in audits] == [3, 1]


@pytest.mark.parametrize("verb", ["put-back", "discard"])
def test_an_unknown_number_keeps_the_others_from_nothing(letters: Path, stepward: Stepward, verb: str) -> None:
    result = stepward("dead-letters", verb, "9", "2")
    assert result.exit_code == 1
    assert result.stdout.startswith("dead letter 2: ")
    assert result.stderr == (
        "stepward: dead letter 9: expected one in store, found none such; look at `stepward dead-letters`\n"
    )
    assert [letter["number"] for letter in as_json(stepward, "dead-letters")] == [3, 1]


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["put-back"], "Missing argument 'NUMBER…'"),
        (["put-back", "0"], "0 is not in the range"),
        (["discard", "one"], "'one' is not a valid integer"),
        (["discard", str(2**63)], "is not in the range"),
        (["--limit", "0"], "0 is not in the range"),
    ],
)
def test_wrong_numbers_are_wrong_usage(letters: Path, stepward: Stepward, args: list[str], says: str) -> None:
    result = stepward("dead-letters", *args)
    assert says in one_line(result)
    assert result.exit_code == 2


@pytest.mark.parametrize("target", [OFFICE, STORE], ids=["app", "store"])
def test_posting_prints_the_id(letters: Path, stepward: Stepward, target: str) -> None:
    result = stepward("post", target, "orders", '"tea"', "--id", "A-1", "--reply-to", REPLIES)
    assert (result.stdout, result.stderr, result.exit_code) == ("A-1\n", "", 0)
    given = stepward("post", target, "orders", "-5")
    assert re.fullmatch(r"[0-9a-f-]{36}\n", given.stdout)


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["orders", "tea"], "message: expected JSON, found tea; text needs quotes within the shell's"),
        (["order", '"tea"'], "queue: expected one that office serves (orders, returns), found 'order'; name one"),
        (["orders", '"tea"', "--id", "a/b"], "id: expected 1 to 200 of"),
        (["orders", '"tea"', "--reply-to", "replies.shop.web"], "reply_to: expected replies.office.NAME"),
        (["orders", json.dumps("x" * 1_048_576)], "expected at most 1,048,576 bytes of JSON"),
        (["orders"], "Missing argument 'JSON'"),
    ],
)
def test_an_invalid_message_is_one_error_line(empty: Path, stepward: Stepward, args: list[str], says: str) -> None:
    result = stepward("post", OFFICE, *args)
    assert says in one_line(result)
    assert result.exit_code == 2


def test_posting_to_a_store_that_is_not_there(empty: Path, stepward: Stepward) -> None:
    result = stepward("post", STORE, "orders", '"tea"')
    assert "stepward.db" in one_line(result)
    assert result.exit_code == 3


@pytest.mark.parametrize("queue", ["orders", "replies.shop.web", "replies.office."])
def test_only_response_queues_of_the_app_are_followed(letters: Path, stepward: Stepward, queue: str) -> None:
    result = stepward("events", OFFICE, queue)
    assert "expected replies.office.NAME" in one_line(result)
    assert result.exit_code == 2


def test_an_app_without_submissions_cannot_run_any(empty: Path, stepward: Stepward) -> None:
    result = stepward("submission", SHOP)
    assert "expected an App with a submission, found shop without any; declare one" in one_line(result)
    assert result.exit_code == 2


def test_start_prints_the_queues_of_a_process(tmp_path: Path) -> None:
    process = Process(tmp_path, "run", OFFICE)
    lines = process.read_until("Ready")
    process.close()
    assert lines[3:-1] == [
        "  scheduler   fulfil@1",
        "  supervisor  every 1s",
        "  submission  orders, returns",
    ]


@pytest.mark.parametrize("actor", ["scheduler", "supervisor"])
def test_actors_on_their_own_accept_nothing(tmp_path: Path, actor: str) -> None:
    process = Process(tmp_path, actor, OFFICE)
    lines = process.read_until("Ready")
    roles = [each["role"] for each in json.loads(done(tmp_path, "instances", "--json").stdout)]
    process.close()
    assert not any(line.startswith("  submission") for line in lines)
    assert roles == [actor]


def test_an_order_from_the_terminal_to_its_last_event(tmp_path: Path) -> None:
    with running(tmp_path, "submission", OFFICE) as submission, running(tmp_path, "scheduler", OFFICE):
        following = Process(tmp_path, "events", STORE, REPLIES, "--json")
        posted = done(tmp_path, "post", OFFICE, "orders", '"tea"', "--id", "A-1", "--reply-to", REPLIES)
        assert (posted.stdout, posted.returncode) == ("A-1\n", 0)
        told = [json.loads(following.read_until("{")[-1]) for _ in range(3)]
        following.tell(signal.SIGINT)
        assert following.ended() == 130
        assert "Traceback" not in following.errors.read_text()
        following.close()
        instances = json.loads(done(tmp_path, "instances", "--json").stdout)
        shown = json.loads(done(tmp_path, "show", "A-1", "--json").stdout)
        in_words = done(tmp_path, "show", "A-1").stdout
        submission.tell(signal.SIGTERM)
        assert submission.read_until("Ended")[-1] == "Ended in good order."
    assert [set(event) for event in told] == [EVENT] * 3
    assert [(event["subject"], event["sequence"], event["type"]) for event in told] == [
        ("A-1", 1, "stepward.request.received"),
        ("A-1", 2, "stepward.task.started"),
        ("A-1", 3, "stepward.task.completed"),
    ]
    assert told[-1]["data"] == {"workflow": "fulfil", "result": "tea sent"}
    assert {each["role"]: each["serves"] for each in instances} == {
        "scheduler": ["fulfil@1"],
        "submission": ["orders", "returns"],
    }
    assert (shown["state"], shown["reply_to"], shown["events"]) == ("processed", REPLIES, 3)
    assert f"reply to     {REPLIES}, events sent: 3" in in_words
    _followed_again(tmp_path)


def _followed_again(folder: Path) -> None:
    """Following has settled nothing: everything can be followed again, in words too."""
    process = Process(folder, "events", STORE, REPLIES)
    line = process.read_until("20")[-1]
    process.close()
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC  A-1  1  request\.received", line)
