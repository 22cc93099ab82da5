import assert from "node:assert/strict";
import { test } from "node:test";
import { Refused, Unavailable } from "../src/errors.js";
import { capacity, failure, progress, readBatch, readRevocation, reply } from "../src/events.js";
import { replyOf, request } from "./requests.js";

const bytes = (text: string) => Buffer.from(text);

test("the requests of a batch are read, and what is none is described", () => {
  const good = request();
  const batch = readBatch(bytes(JSON.stringify([5, good, null, { type: "stepward.request" }, { ...good, tenant: "acme" }])));
  assert.deepEqual(batch.requests.map(({ id }) => id), [good.id, good.id]);
  assert.deepEqual(batch.unreadable.length, 3);
  assert.match(batch.unreadable[0] ?? "", /^expected a request, found 5$/);
});

for (const body of ["", "?", "null", '"text"', "[", "5", "[".repeat(100_000), "\xff"]) {
  test(`a body that is no batch is described and not thrown: ${body.slice(0, 8)}`, () => {
    assert.deepEqual(readBatch(Buffer.from(body, "latin1")).requests, []);
  });
}

for (const [name, value] of Object.entries({ step: "", attempt: "1", run: 1.5, expirytime: "soon", replyto: null, operation: 7 })) {
  test(`a request whose ${name} is of another type is none`, () => {
    assert.deepEqual(readBatch(bytes(JSON.stringify([{ ...request(), [name]: value }]))).requests, []);
  });
}

test("a reply repeats what the request is known by, its store and its proof, and names the Agent", () => {
  const asked = request({ attempt: 3, run: 2 });
  const event = replyOf(reply(asked, { outcome: "completed", data: null }, 2));
  for (const name of ["store", "proof", "correlationid", "run", "step", "attempt"] as const) {
    assert.equal(event[name], asked[name]);
  }
  assert.equal(event.source, "/stepward/orders/agents.mail");
  assert.equal(event.data, null);
  assert.equal(event.calls, 2);
});

test("an error says what follows for the step", () => {
  const refused = failure(new Refused("no such card", { data: { code: 14 } }));
  const data = { message: "no such card", type: "Refused", data: { code: 14 } };
  assert.deepEqual(refused, { outcome: "failed", maybedone: false, data });
  assert.equal(failure(new Unavailable("down")).outcome, "gave_up");
  assert.equal(failure(new Unavailable("busy", { maybeDone: false })).maybedone, false);
  assert.deepEqual(failure(new TypeError("x is undefined")).maybedone, true);
  assert.deepEqual(failure("text").data, { message: "text", type: "Error", data: {} });
});

test("progress is bounded", () => {
  assert.doesNotThrow(() => progress(request(), "x".repeat(2_046)));
  assert.throws(() => progress(request(), "x".repeat(2_047)), /expected JSON of 1 to 2048 bytes, found 2049/);
  assert.throws(() => progress(request(), undefined), RangeError);
});

test("of broadcasts only revocations are read", () => {
  const revocation = { type: "stepward.revocation", correlationid: "uid-1", run: 1, step: "mail.send/1", attempt: 2 };
  assert.deepEqual(readRevocation(bytes(JSON.stringify(revocation))), revocation);
  for (const other of ["?", "null", "[]", '{"type":"stepward.revocation"}', '{"type":"stepward.loss"}']) {
    assert.equal(readRevocation(bytes(other)), undefined);
  }
  assert.equal(readRevocation(capacity("orders", "mail", "mail-1", 16, 0)), undefined);
});
