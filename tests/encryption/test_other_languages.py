"""The code for Node in docs/encryption.md opens what an Agent is sent, and seals what a Scheduler opens."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from stepward.encryption import codec_of
from stepward.transport.sealed_transport import opened, sealed
from tests.encryption.shop import KEYS
from tests.programs import program
from tests.transport.messages import reply, request

pytestmark = pytest.mark.servers
PAGE = Path(__file__).parents[2] / "docs" / "encryption.md"
SCRIPT = """
const given = JSON.parse(require('node:fs').readFileSync(0, 'utf8'))
const key = Buffer.from(given.key, 'hex')
const args = open(given.sealed, key, given.app, given.event)
const output = seal(args, 'reply.output', given.keyId, key, given.app, given.event)
console.log(JSON.stringify({ args, output }))
"""


def test_the_code_for_node_reads_requests_and_writes_replies(tmp_path: Path) -> None:
    node = program("node", "Debian's package nodejs")
    codec = codec_of("shop", KEYS)
    assert codec is not None
    asked = request(input='["4111 ☂",7]'.encode())
    event = {"correlationid": asked.task, "run": asked.run, "step": asked.key}
    key = {"key": KEYS.keys["k1"].hex(), "keyId": "k1", "app": "shop", "event": event}
    given = json.dumps({**key, "sealed": json.loads(sealed(asked, codec).input)})  # type: ignore[union-attr]
    (code,) = re.findall(r"```js\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    (tmp_path / "agent.js").write_text(code + SCRIPT)
    answer = subprocess.run(
        [node, "agent.js"], check=True, cwd=tmp_path, input=given, stdout=subprocess.PIPE, text=True, timeout=60
    )
    found = json.loads(answer.stdout)
    assert found["args"] == ["4111 ☂", 7]
    replied = reply(output=json.dumps(found["output"], separators=(",", ":")).encode())
    assert json.loads(opened(replied, codec).output) == found["args"]  # type: ignore[union-attr, arg-type]
