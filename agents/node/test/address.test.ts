import assert from "node:assert/strict";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { readAddress } from "../src/address.js";
import { Agent } from "../src/agent.js";
import { Names } from "../src/broker.js";
import { SettingsError } from "../src/errors.js";

test("an address names servers, login, virtual host and prefix", () => {
  const nats = readAddress("nats://ada:secret@127.0.0.1:4222,localhost:4223?replicas=3&prefix=staging");
  assert.deepEqual(nats, {
    broker: "nats",
    hosts: ["127.0.0.1:4222", "localhost:4223"],
    login: "ada:secret",
    path: "",
    prefix: "staging",
  });
  const rabbit = readAddress("amqp://guest:guest@[::1]:5672/orders");
  assert.deepEqual([rabbit.broker, rabbit.hosts, rabbit.path], ["rabbitmq", ["[::1]:5672"], "/orders"]);
});

test("files of an address are read", () => {
  const ca = join(mkdtempSync(join(tmpdir(), "agent-")), "ca.pem");
  writeFileSync(ca, "CERTIFICATE");
  assert.deepEqual(readAddress(`tls://broker.example:4222?ca=${ca}`).tls, { ca: "CERTIFICATE" });
  assert.throws(() => readAddress("tls://broker.example:4222?ca=/nowhere"), /expected ca=\/nowhere to name a readable file/);
});

for (const [address, words] of [
  ["", /expected an address such as nats/],
  ["http://127.0.0.1", /expected an address such as nats/],
  ["nats://127.0.0.1?colour=red", /expected the options .*, found colour/],
  ["nats://broker.example:4222", /expected TLS to the host broker\.example, found none/],
  ["amqp://guest:guest@10.0.0.1/", /expected TLS to the host 10\.0\.0\.1/],
] as const) {
  test(`an address that cannot be used is refused: ${address}`, () => {
    assert.throws(() => readAddress(address), (error) => error instanceof SettingsError && words.test(error.message));
  });
}

test("plaintext to another host is possible where the address allows it", () => {
  assert.equal(readAddress("nats://broker.example:4222?plaintext=allowed").tls, undefined);
});

test("a prefix stands before every name", () => {
  assert.deepEqual({ ...new Names("orders", "") }, {
    root: "stepward.orders", stream: "STEPWARD_orders", told: "stepward.orders.told",
  });
  assert.deepEqual({ ...new Names("orders.p2", "") }, {
    root: "stepward.orders.p2", stream: "STEPWARD_orders+p2", told: "stepward.orders.p2.told",
  });
  assert.deepEqual({ ...new Names("orders", "staging") }, {
    root: "staging.stepward.orders", stream: "staging+STEPWARD_orders", told: "staging.stepward.orders.told",
  });
});

for (const wrong of [{ name: "a.b" }, { capacity: 0 }, { capacity: 1.5 }, { lease: "1 week" }, { lease: 0.5 }]) {
  test(`an Agent with ${JSON.stringify(wrong)} is refused`, () => {
    const options = { app: "orders", name: "mail", transport: "nats://127.0.0.1", ...wrong };
    assert.throws(() => new Agent(options), SettingsError);
  });
}

test("an operation is offered once", () => {
  const agent = new Agent({ app: "orders", name: "mail", transport: "nats://127.0.0.1" });
  agent.operation("send", () => 1);
  assert.throws(() => agent.operation("send", () => 2), /expected each operation once, found send twice/);
});
