"""The wire as it was: what we write today stays as the golden files have it, and what was ever written is read.

A file holds a broker message, laid out for people. To change the wire on purpose, keep the files of what was
released, begin another folder beside them, and say in docs/wire.md what changed.
"""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from stepward.model.agents import AgentHealth
from stepward.model.messages.cloudevents import data_of, decode_event
from stepward.transport.broker.rejections import RejectionReason
from stepward.transport.wire.capacity_announcements import decode_capacity
from stepward.transport.wire.encoding import Wire
from stepward.transport.wire.loss_broadcasts import decode_loss
from stepward.transport.wire.wire_events import decode_revocation
from tests.transport.messages import SIGNER
from tests.transport.wire.described import Described, Tapped
from tests.transport.wire.messages import BATCHES, ONE, SOURCE, written

GOLDEN = Path(__file__).parent / "golden"
NOW = GOLDEN / "v2"
HEARD = {"capacity"}
"""What only others write."""
ADDRESSES = {
    "stepward.request": "stepward.shop.agents.x",
    "stepward.reply": "stepward.shop.replies.x",
    "stepward.progress": "stepward.shop.replies.x",
    "stepward.submission": "stepward.shop.submissions.orders",
    "stepward.task.started": "stepward.shop.responses.web",
}
TOLD = "stepward.shop.told"
VERSIONS = sorted(GOLDEN.iterdir())


def golden(name: str, folder: Path = NOW) -> bytes:
    return (folder / f"{name}.json").read_bytes()


@pytest.mark.parametrize("name", written())
def test_it_is_written_as_it_was(name: str) -> None:
    assert (msgspec.json.format(written()[name], indent=2) + b"\n").decode() == golden(name).decode()


def test_there_is_a_golden_file_of_each_and_no_other() -> None:
    assert {file.stem for file in NOW.iterdir()} == written().keys() | HEARD


@pytest.mark.parametrize("folder", VERSIONS[1:], ids=lambda folder: folder.name)
@pytest.mark.parametrize("name", BATCHES)
def test_a_batch_since_version_2_is_read(folder: Path, name: str) -> None:
    # Data are kept as they came, with their spaces.
    assert Wire("shop", SIGNER).decode(msgspec.json.format(golden(name, folder), indent=-1)) == (BATCHES[name], [], [])


@pytest.mark.parametrize("name", BATCHES)
def test_a_batch_of_version_1_is_rejected_by_name(name: str) -> None:
    read = Wire("shop", SIGNER).decode(golden(name, GOLDEN / "v1"))
    assert (read.messages, read.spoilt) == ([], [])
    assert [rejection.reason for rejection in read.rejected] == [RejectionReason.OLD_WIRE] * len(BATCHES[name])
    assert all("expected version 2 of the wire" in rejection.message for rejection in read.rejected)


@pytest.mark.parametrize("folder", VERSIONS, ids=lambda folder: folder.name)
def test_broadcasts_of_every_version_are_read(folder: Path) -> None:
    heard = decode_revocation(golden("revocation", folder))
    assert heard is not None
    assert (heard.source, heard.subject, heard.correlationid) == (SOURCE, "agents.payments", ONE)
    assert (heard.run, heard.step) == (2, "payments.charge/1")
    told = decode_capacity(golden("capacity", folder))
    assert told == ("/stepward/shop/mail-7f3a", AgentHealth(agent="mail", capacity=16, in_flight=3))
    assert decode_loss(golden("loss", folder)) == "agents.payments"


@pytest.mark.parametrize("folder", VERSIONS, ids=lambda folder: folder.name)
def test_application_messages_of_every_version_are_read(folder: Path) -> None:
    posted = decode_event(golden("submission", folder))
    assert (posted.id, posted.replyto, data_of(posted)) == ("A-4", "replies.shop.web", {"product": "teapot"})
    heard = [decode_event(json.dumps(event).encode()) for event in json.loads(golden("status-events", folder))]
    assert [(event.subject, int(event.sequence or "")) for event in heard] == [("A-4", n) for n in (2, 3, 4, 5)]


@pytest.mark.parametrize("file", sorted(NOW.iterdir()), ids=lambda file: file.stem)
def test_it_is_as_the_description_says(file: Path) -> None:
    read = json.loads(file.read_bytes())
    kind = (read[0] if isinstance(read, list) else read)["type"]
    assert Described("rabbitmq").complaints(Tapped(ADDRESSES.get(kind, TOLD), file.read_bytes())) == []
