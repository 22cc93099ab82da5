"""A program that answers like a peer's, at once."""

import json
import sys

ANSWERS = {"ten": [500.0, 1_000.0], "alone": [0.25, 0.5], "queued": [50.0, 100.0]}

for line in sys.stdin:
    work, *_ = json.loads(line)
    print(json.dumps(dict(zip(("coroutines", "threads"), ANSWERS[work], strict=True))), flush=True)
