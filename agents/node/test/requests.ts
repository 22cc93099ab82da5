// Requests of the tests.
import type { ReplyEvent, RequestEvent } from "../src/wire.js";

/** A request that is due in 10 s, with those attributes. */
export function request(given: Partial<RequestEvent> = {}): RequestEvent {
  return {
    type: "stepward.request",
    specversion: "1.0",
    id: "uid-1/1/mail.send/1/1",
    source: "/stepward/orders",
    store: "5d0c9be1a7f24e6083b1",
    proof: "5e18e342f4a05708dedc3c3c652e87a7",
    correlationid: "uid-1",
    run: 1,
    step: "mail.send/1",
    attempt: 1,
    time: new Date().toISOString(),
    data: ["a@example.com"],
    subject: "order-1",
    expirytime: new Date(Date.now() + 10_000).toISOString(),
    agent: "mail",
    operation: "mail.send",
    idempotencykey: "uid-1/1/mail.send/1",
    replyto: "replies.scheduler-1",
    priority: 5,
    ...given,
  };
}

/** The one reply in a broker message. */
export function replyOf(body: Uint8Array): ReplyEvent {
  const [event] = JSON.parse(Buffer.from(body).toString()) as [ReplyEvent];
  return event;
}
