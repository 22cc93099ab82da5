import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { test } from "node:test";
import { Attempts } from "../src/attempts.js";
import type { Perform } from "../src/attempts.js";
import type { Call } from "../src/call.js";
import type { ReplyEvent } from "../src/wire.js";
import { replyOf, request } from "./requests.js";

/** Attempts whose replies are kept; the first `failures` publications fail. */
function attempts(perform: Perform, { capacity = 2, failures = 0, limit = 10_000 } = {}) {
  const sent: { queue: string; event: ReplyEvent }[] = [], lines: string[] = [];
  let left = failures;
  const made = new Attempts({
    capacity,
    limit: () => limit,
    store: request().store ?? undefined,
    perform,
    publish: async (queue, body) => {
      if (left-- > 0) {
        throw new Error("down");
      }
      sent.push({ queue, event: replyOf(body) });
    },
    changed: () => {},
    log: (line) => lines.push(line),
  });
  return { made, sent, lines };
}

/** An operation that returns when it is let go; it ends at once when its signal is aborted. */
function held() {
  const calls: Call[] = [];
  let go = () => {};
  const released = new Promise<void>((resolve) => (go = resolve));
  const perform = async (call: Call) => {
    calls.push(call);
    const aborted = new Promise<never>((_, reject) => call.signal.addEventListener("abort", () => reject(new Error("aborted"))));
    await Promise.race([released, aborted]);
    return "done";
  };
  return { calls, perform, go: () => go() };
}

test("a request that comes again during its attempt starts no second one, and is answered where it was sent last", async () => {
  const { calls, perform, go } = held();
  const { made, sent } = attempts(perform);
  const first = made.receive(request(), false);
  await delay(1);
  const second = made.receive(request({ replyto: "replies.scheduler-2" }), true);
  go();
  await Promise.all([first, second]);
  assert.equal(calls.length, 1);
  assert.deepEqual(sent.map(({ queue }) => queue), ["replies.scheduler-2"]);
  await made.receive(request(), true);
  assert.deepEqual(sent.length, 2);
});

test("a later attempt takes the place of an earlier one, which says nothing", async () => {
  const { perform, go } = held();
  const { made, sent } = attempts(perform);
  const first = made.receive(request(), false);
  await delay(1);
  const second = made.receive(request({ attempt: 2 }), false);
  await first;
  go();
  await second;
  assert.deepEqual(sent.map(({ event }) => event.attempt), [2]);
  assert.equal(made.held, 0);
});

test("past the complete-by nothing is sent, and the slot is free once the operation has returned", async () => {
  let back = () => {};
  const stuck = new Promise<void>((resolve) => (back = resolve));
  const { made, sent } = attempts(async () => await stuck, { capacity: 1 });
  await made.receive(request({ expirytime: new Date(Date.now() + 30).toISOString() }), false);
  assert.deepEqual([sent, made.held], [[], 1]);
  const next = made.receive(request({ step: "mail.send/2", expirytime: new Date(Date.now() + 30).toISOString() }), false);
  await next;
  back();
  await delay(1);
  assert.deepEqual([sent, made.held], [[], 0]);
});

test("no more attempts run at once than the capacity, whatever a batch holds", async () => {
  const { calls, perform, go } = held();
  const { made, sent } = attempts(perform, { capacity: 2 });
  const all = [1, 2, 3, 4, 5].map((number) => made.receive(request({ step: `mail.send/${number}` }), false));
  await delay(5);
  assert.equal(calls.length, 2);
  go();
  await Promise.all(all);
  assert.equal(sent.length, 5);
});

test("a revoked attempt is answered once its operation has stopped", async () => {
  const { perform } = held();
  const { made, sent } = attempts(perform);
  const served = made.receive(request(), false);
  await delay(1);
  made.revoke({ type: "stepward.revocation", specversion: "1.0", id: "r", source: "s", subject: "agents.mail", correlationid: "uid-1", run: 1, step: "mail.send/1" });
  await served;
  assert.deepEqual(sent.map(({ event }) => [event.outcome, event.maybedone]), [["gave_up", true]]);
});

test("a revoked attempt that completes all the same reports its result, for the undo", async () => {
  let done = () => {};
  const finished = new Promise<string>((resolve) => (done = () => resolve("charged")));
  const { made, sent } = attempts(() => finished);
  const served = made.receive(request(), false);
  await delay(1);
  made.revoke({ type: "stepward.revocation", specversion: "1.0", id: "r", source: "s", subject: "agents.mail", correlationid: "uid-1", run: 1, step: "mail.send/1" });
  done();
  await served;
  assert.deepEqual(sent.map(({ event }) => [event.outcome, event.data]), [["completed", "charged"]]);
});

test("a reply is sent again until the broker takes it", async () => {
  const { made, sent, lines } = attempts(async () => "done", { failures: 1 });
  await made.receive(request(), false);
  assert.equal(sent.length, 1);
  assert.deepEqual(lines, ["reply: expected the broker to take it, found down; it is sent again"]);
});

for (const [name, result] of Object.entries({ "a BigInt": 5n, "a function": () => 1 })) {
  test(`a result that JSON cannot hold fails for good: ${name}`, async () => {
    const { made, sent } = attempts(async () => result);
    await made.receive(request(), false);
    assert.deepEqual(sent.map(({ event }) => [event.outcome, event.maybedone]), [["failed", true]]);
  });
}

test("a result over the broker's limit fails for good", async () => {
  const { made, sent } = attempts(async () => "x".repeat(10_000));
  await made.receive(request(), false);
  const [{ event } = { event: undefined }] = sent;
  assert.equal(event?.outcome, "failed");
  assert.match(JSON.stringify(event?.data), /PayloadTooLarge/);
});

test("a request of another store is dropped, and logged", async () => {
  const { made, sent, lines } = attempts(async () => 1);
  await made.receive(request({ store: "other" }), false);
  assert.deepEqual([sent, lines.length], [[], 1]);
});
