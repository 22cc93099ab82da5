// The mail Agent of the orders example in Node: takes requests over NATS, calls the mail service, answers.
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { AckPolicy, jetstream, jetstreamManager } from "@nats-io/jetstream";
import { connect, nanos } from "@nats-io/transport-node";

const [HOSTS, OPTIONS] = (process.env.STEPWARD_TRANSPORT ?? "nats://127.0.0.1:4222").replace("nats://", "").split("?");
const PREFIX = new URLSearchParams(OPTIONS).get("prefix"), ROOT = `${PREFIX ? `${PREFIX}.` : ""}stepward.orders`;
const STREAM = PREFIX ? `${PREFIX}+STEPWARD_orders` : "STEPWARD_orders", NAME = "agents_mail", CAPACITY = 16;
const LEASE = 1_000 * parseFloat(process.env.STEPWARD_LEASE ?? "10s"); // as the application has it
const SERVICE = process.env.ORDERS_MAIL_URL ?? "http://127.0.0.1:8104";
const SOURCE = `/stepward/orders/mail-${randomUUID()}`, STORE = process.env.ORDERS_STORE_ID; // it serves, if given
const CONFIG = { durable_name: NAME, filter_subject: `${ROOT}.queue.agents.mail`, ack_wait: nanos(LEASE),
  ack_policy: AckPolicy.Explicit, max_ack_pending: 100_000, inactive_threshold: nanos(3_600_000) };
const nats = await connect({ servers: HOSTS.split(","), maxReconnectAttempts: -1, waitOnFirstConnect: true });
const queues = jetstream(nats), calls = new Map(); let leaving = false; // calls by step: what cuts each short
const nameOf = (event) => [event.correlationid, event.run, event.step].join(" ");
const left = (request) => Date.parse(request.expirytime) - Date.now();
const read = (message) => { try { return message.json(); } catch { return {}; } };

async function send(request, signal) { // the outcome, its data, and whether the service may have acted in spite of it
  const error = (type, message) => ({ type, message, data: {} });
  if (request.operation !== "mail.send") return ["failed", error("UnknownOperation", request.operation)];
  const headers = { "Content-Type": "application/json", "Idempotency-Key": request.idempotencykey,
    "Stepward-Complete-By": request.expirytime, traceparent: request.traceparent };
  try {
    const [order_id, template] = request.data, body = JSON.stringify({ order_id, template });
    const response = await fetch(`${SERVICE}/send`, { method: "POST", headers, body, signal });
    const answer = await response.json(), said = `mail: expected success, found ${response.status} ${answer.title}`;
    if (response.ok) return ["completed", answer.message_id];
    if (response.status >= 500) return ["gave_up", error("ServiceUnavailable", said), true];
    return [[408, 425, 429].includes(response.status) ? "gave_up" : "failed", error("Refused", said)];
  } catch (problem) {
    return ["gave_up", error(problem.name, problem.message), true];
  }
}

async function answer(request) { // past the complete-by, and where nobody waits any more, nothing is said
  const { id, store, proof, correlationid, run, step, attempt, replyto } = request, stop = new AbortController();
  if (STORE && store !== STORE) return console.error(`mail: expected store ${STORE}, found ${store}: refused`);
  if (!(left(request) > 0)) return;
  const timer = setTimeout(() => stop.abort(), Math.min(left(request), 2 ** 31 - 1));
  calls.set(nameOf(request), stop);
  try {
    const [outcome, data, maybedone = false] = await send(request, stop.signal);
    if (stop.signal.aborted || left(request) <= 0) return;
    const reply = { specversion: "1.0", type: "stepward.reply", id: `${id}/reply`, store, proof,
      source: "/stepward/orders/agents.mail", correlationid, run, step, attempt, outcome, maybedone, data };
    await queues.publish(`${ROOT}.queue.${replyto}`, JSON.stringify([reply]));
  } finally {
    clearTimeout(timer), calls.delete(nameOf(request));
  }
}

async function serve(message) { // acknowledged once all of it is dealt with; if that fails it comes again
  const lease = setInterval(() => message.working(), LEASE / 3);
  const requests = [read(message)].flat().filter((event) => event?.type === "stepward.request");
  await Promise.all(requests.map(answer)).then(() => message.ack(), (problem) => console.error(problem.message));
  clearInterval(lease);
}

const announce = () => nats.publish(`${ROOT}.told`, JSON.stringify({ specversion: "1.0", type: "stepward.capacity",
  id: randomUUID(), source: SOURCE, subject: "agents.mail", capacity: leaving ? 0 : CAPACITY, inflight: calls.size }));
nats.subscribe(`${ROOT}.told`, { callback: (_, message) => { // a revocation
  if (read(message).type === "stepward.revocation") calls.get(nameOf(read(message)))?.abort();
} });
process.once("SIGTERM", () => { leaving = true; announce(); });
setInterval(announce, LEASE / 3).unref();
for (announce(); !leaving; await delay(1_000)) try { // again where the stream is not there yet, or not any more
  const { consumers } = await jetstreamManager(nats);
  await consumers.info(STREAM, NAME).catch(() => consumers.add(STREAM, CONFIG));
  for (const queue = await queues.consumers.get(STREAM, NAME); !leaving;) {
    const message = await queue.next({ expires: 2_000 });
    if (message) serve(message);
    while (calls.size >= CAPACITY) await delay(10);
  }
} catch (problem) { console.error(problem.message); }
while (calls.size) await delay(10);
await nats.drain();
