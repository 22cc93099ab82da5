"""Archives hold ciphertext, and are replayed with the key."""

from __future__ import annotations

from pathlib import Path

from stepward.encryption import codec_of
from stepward.replaying.histories import archived
from stepward.replaying.report import ReplayReport
from tests.cli.processes import asked
from tests.encryption.shop import CANARY, KEYS, application
from tests.encryption.test_canary import files_with
from tests.encryption.test_keys_at_start import store_in
from tests.encryption.test_rotation import carried_of


def test_an_archive_holds_ciphertext_and_is_replayed_with_the_key(tmp_path: Path) -> None:
    store, archive = store_in(tmp_path), tmp_path / "archive"
    archive.mkdir()
    carried_of(store)
    found = asked(tmp_path, "purge", "--older-than", "0s", "--store", store, STEPWARD_ARCHIVE=str(archive))
    assert (found.returncode, files_with(archive, CANARY)) == (0, [])
    opened = list(archived(archive, codec=codec_of("shop", KEYS)))
    assert opened
    assert all(CANARY.encode() in task.input for task, _ in opened)
    report = ReplayReport(application(store).registry)
    for task, steps in opened:
        report.add(task, steps)
    assert (report.is_fit, report.replayed.total()) == (True, len(opened))
