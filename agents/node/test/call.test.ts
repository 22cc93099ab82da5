import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import { Call } from "../src/call.js";
import { OperationError } from "../src/errors.js";
import { request } from "./requests.js";

let status = 200, answer = "";
const seen: Record<string, string | string[] | undefined>[] = [];
const server = createServer((received, response) => {
  seen.push(received.headers);
  response.writeHead(status).end(answer);
});
let url = "";
before(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/send`;
});
after(() => server.close());

const call = (given = {}) => new Call(request(given), new AbortController().signal, async () => {});

test("a call carries key, complete-by and trace, and is counted", async () => {
  [status, answer] = [200, '{"id":1}'];
  const made = call({ traceparent: "00-1-2-01", undoes: "key-0", undo: true });
  assert.deepEqual(await made.json("POST", url, { to: "a" }), { id: 1 });
  const { request: asked } = made, headers = seen.at(-1) ?? {};
  assert.equal(headers["idempotency-key"], asked.idempotencykey);
  assert.equal(headers["stepward-complete-by"], asked.expirytime);
  assert.deepEqual([headers["traceparent"], headers["stepward-undoes"], made.calls], ["00-1-2-01", "key-0", 1]);
});

test("an empty answer is undefined", async () => {
  [status, answer] = [204, ""];
  assert.equal(await call().json("POST", url), undefined);
});

for (const [code, outcome, maybeDone] of [
  [503, "gave_up", true],
  [429, "gave_up", false],
  [422, "failed", false],
  [409, "failed", true],
] as const) {
  test(`the status ${code} is ${outcome}`, async () => {
    [status, answer] = [code, "no"];
    await assert.rejects(call().json("POST", url, {}), (error) => {
      assert.ok(error instanceof OperationError);
      assert.deepEqual([error.outcome, error.maybeDone, error.data], [outcome, maybeDone, { status: code }]);
      assert.match(error.message, new RegExp(`^POST /send: expected success, found ${code} no$`));
      return true;
    });
  });
}

test("no answer may pass, and leaves a doubt", async () => {
  await assert.rejects(call().json("POST", "http://127.0.0.1:1/"), { outcome: "gave_up", maybeDone: true });
});

test("progress of an earlier attempt is read", () => {
  assert.deepEqual(call({ progress: '{"page":7}' }).lastProgress, { page: 7 });
  assert.equal(call().lastProgress, undefined);
});
