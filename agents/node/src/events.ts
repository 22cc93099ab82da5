// The events of the wire: what is read of a broker message, and what is written.
import { randomUUID } from "node:crypto";
import { OperationError, errorObject } from "./errors.js";
import type { Capacity, ProgressEvent, ReplyEvent, RequestEvent, Revocation } from "./wire.js";

/** What a broker message holds. */
export interface Batch {
  requests: RequestEvent[];
  /** One line for each part that is no request. */
  unreadable: string[];
}

const TEXTS = ["id", "source", "correlationid", "step", "subject", "expirytime", "agent", "operation", "idempotencykey", "replyto"];
const COUNTS = ["run", "attempt", "priority"];
const SHOWN = 100;
const MOST_BYTES_OF_PROGRESS = 2_048;

/** The requests of a broker message; its other parts are described, and dropped by the caller. */
export function readBatch(body: Uint8Array): Batch {
  const parsed = parse(body);
  const events = Array.isArray(parsed) ? parsed : [parsed];
  const requests = events.filter(isRequest);
  const others = events.filter((event) => !isRequest(event));
  return { requests, unreadable: others.map((event) => `expected a request, found ${shown(event)}`) };
}

/** The revocation that a broadcast holds; undefined for any other. */
export function readRevocation(body: Uint8Array): Revocation | undefined {
  const event = parse(body) as Partial<Revocation> | null | undefined;
  const isOne = event?.type === "stepward.revocation" && typeof event.correlationid === "string";
  return isOne && typeof event.step === "string" && typeof event.run === "number" ? (event as Revocation) : undefined;
}

/** A batch with one reply. */
export function reply(
  request: RequestEvent,
  answer: Pick<ReplyEvent, "outcome"> & Partial<Pick<ReplyEvent, "data" | "maybedone">>,
  calls: number,
): Uint8Array {
  const event: ReplyEvent = { type: "stepward.reply", ...envelope(request, "reply"), ...answer, calls };
  return encoded([event]);
}

/** A batch with one progress message. Throws a RangeError for progress over 2 KiB. */
export function progress(request: RequestEvent, value: unknown): Uint8Array {
  const bytes = Buffer.byteLength(JSON.stringify(value) ?? "");
  if (bytes === 0 || bytes > MOST_BYTES_OF_PROGRESS) {
    throw new RangeError(`progress: expected JSON of 1 to ${MOST_BYTES_OF_PROGRESS} bytes, found ${bytes}; shorten it`);
  }
  const named = envelope(request, `progress/${randomUUID()}`);
  const event: ProgressEvent = { type: "stepward.progress", ...named, time: new Date().toISOString(), data: value };
  return encoded([event]);
}

/** An announcement of capacity. */
export function capacity(app: string, agent: string, process: string, free: number, inflight: number): Uint8Array {
  const event: Capacity = {
    type: "stepward.capacity",
    specversion: "1.0",
    id: randomUUID(),
    source: `/stepward/${app}/${process}`,
    subject: `agents.${agent}`,
    capacity: free,
    inflight,
  };
  return encoded(event);
}

/** What an error means for the step: an OperationError says it; after any other the service may have acted. */
export function failure(error: unknown): Pick<ReplyEvent, "outcome" | "maybedone" | "data"> {
  const known = error instanceof OperationError ? error : { outcome: "gave_up" as const, maybeDone: true };
  return { outcome: known.outcome, maybedone: known.maybeDone, data: errorObject(error) };
}

/** The step of an event, undo and forward call apart. */
export function stepOf(event: Pick<Revocation, "correlationid" | "run" | "step">): string {
  return JSON.stringify([event.correlationid, event.run, event.step]);
}

function envelope(request: RequestEvent, name: string) {
  const { correlationid, run, step, attempt } = request;
  return {
    specversion: "1.0" as const,
    id: `${request.id}/${name}`,
    source: `${request.source}/agents.${request.agent}`,
    store: request.store ?? null,
    proof: request.proof ?? null,
    time: new Date().toISOString(),
    correlationid,
    run,
    step,
    attempt,
  };
}

function isRequest(event: unknown): event is RequestEvent {
  if (typeof event !== "object" || event === null || Array.isArray(event)) {
    return false;
  }
  const found = event as Record<string, unknown>;
  return (
    found["type"] === "stepward.request" &&
    TEXTS.every((name) => typeof found[name] === "string" && found[name] !== "") &&
    COUNTS.every((name) => Number.isSafeInteger(found[name])) &&
    Number.isFinite(Date.parse(found["expirytime"] as string))
  );
}

function parse(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch {
    return undefined;
  }
}

function shown(event: unknown): string {
  return event === undefined ? "no JSON" : JSON.stringify(event).slice(0, SHOWN);
}

function encoded(event: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(event));
}
