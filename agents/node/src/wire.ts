// Generated from docs/asyncapi.json by scripts/generate-wire-types.mjs: do not edit.

/** The version of the wire. */
export const WIRE_VERSION = "2.0.0";

/** The arguments with which RabbitMQ's queues of requests are declared. */
export const REQUEST_QUEUE_ARGUMENTS = {
  "x-queue-type": "quorum",
  "x-message-ttl": 604800000,
  "x-expires": 604800000,
  "x-consumer-timeout": 604800000,
  "x-delivery-limit": 1000000,
  "x-max-length-bytes": 1073741824,
  "x-overflow": "reject-publish"
};

/**
 * The events that an Agent receives and sends, by name.
 */
export interface WireEvents {
  RequestEvent?: RequestEvent;
  ReplyEvent?: ReplyEvent;
  ProgressEvent?: ProgressEvent;
  Revocation?: Revocation;
  Capacity?: Capacity;
  ErrorObject?: ErrorObject;
}
/**
 * A request; its data are the arguments.
 */
export interface RequestEvent {
  /**
   * What kind of event this is.
   */
  type: "stepward.request";
  /**
   * The version of CloudEvents.
   */
  specversion: "1.0";
  /**
   * The same for each publication of one attempt.
   */
  id: string;
  /**
   * The sender. Of a request: `/stepward/` and the application. Of a reply or progress: that, `/agents.` and the Agent.
   */
  source: string;
  /**
   * The identity of the store that holds the step, copied from the request; required since version 2.
   */
  store?: string | null;
  /**
   * Proof that an answer belongs to this request, copied from the request unchanged; required since version 2.
   */
  proof?: string | null;
  /**
   * The task's uid.
   */
  correlationid: string;
  /**
   * Which run of the task, from 1.
   */
  run: number;
  /**
   * The step's key: the operation's name and the number of its call, as in `mail.send/1`.
   */
  step: string;
  /**
   * Which attempt of the step, from 1.
   */
  attempt: number;
  /**
   * When the event was written, by the store's clock.
   */
  time?: string | null;
  /**
   * JSON of any kind.
   */
  data?: unknown;
  /**
   * Used in place of `data` for bytes that are no JSON.
   */
  data_base64?: string | null;
  /**
   * The task's id.
   */
  subject: string;
  /**
   * The complete-by, by the store's clock: past it the Agent stops and sends nothing.
   */
  expirytime: string;
  /**
   * The Agent's name.
   */
  agent: string;
  /**
   * The requested operation: `mail.send`.
   */
  operation: string;
  /**
   * The same in every attempt of the step: the service acts once per key.
   */
  idempotencykey: string;
  /**
   * The queue for the reply.
   */
  replyto: string;
  /**
   * The task's priority, 0 (last) to 9 (first).
   */
  priority: number;
  /**
   * W3C trace context for calls of the service: the span of the attempt.
   */
  traceparent?: string | null;
  /**
   * Whether the operation is to be undone: its result, or null if unknown, precedes the arguments.
   */
  undo?: boolean;
  /**
   * For an undo: the idempotency key of the step that it undoes.
   */
  undoes?: string | null;
  /**
   * JSON as text: the last progress of an earlier attempt.
   */
  progress?: string | null;
}
/**
 * A reply; its data are the operation's result, or the error object.
 */
export interface ReplyEvent {
  /**
   * What kind of event this is.
   */
  type: "stepward.reply";
  /**
   * The version of CloudEvents.
   */
  specversion: "1.0";
  /**
   * The same for each publication of one attempt.
   */
  id: string;
  /**
   * The sender. Of a request: `/stepward/` and the application. Of a reply or progress: that, `/agents.` and the Agent.
   */
  source: string;
  /**
   * The identity of the store that holds the step, copied from the request; required since version 2.
   */
  store?: string | null;
  /**
   * Proof that an answer belongs to this request, copied from the request unchanged; required since version 2.
   */
  proof?: string | null;
  /**
   * The task's uid.
   */
  correlationid: string;
  /**
   * Which run of the task, from 1.
   */
  run: number;
  /**
   * The step's key: the operation's name and the number of its call, as in `mail.send/1`.
   */
  step: string;
  /**
   * Which attempt of the step, from 1.
   */
  attempt: number;
  /**
   * When the event was written, by the store's clock.
   */
  time?: string | null;
  /**
   * JSON of any kind.
   */
  data?: unknown;
  /**
   * Used in place of `data` for bytes that are no JSON.
   */
  data_base64?: string | null;
  /**
   * How the attempt ended; `deferred`: the Agent has done its part, and another reply may follow.
   */
  outcome: "completed" | "deferred" | "failed" | "gave_up";
  /**
   * Whether the service may have acted although the attempt failed: the step is then undone like a completed one.
   */
  maybedone?: boolean;
  /**
   * JSON as text: the values that a completed attempt wrote, recorded with its outcome: an object with the published values by name in `publish`, and lists of values by name of their stream in `stream`.
   */
  written?: string | null;
  /**
   * How often the service was called within this attempt.
   */
  calls?: number;
}
/**
 * Progress of an Agent that goes on working; its data are JSON of at most 2,048 bytes.
 */
export interface ProgressEvent {
  /**
   * What kind of event this is.
   */
  type: "stepward.progress";
  /**
   * The version of CloudEvents.
   */
  specversion: "1.0";
  /**
   * The same for each publication of one attempt.
   */
  id: string;
  /**
   * The sender. Of a request: `/stepward/` and the application. Of a reply or progress: that, `/agents.` and the Agent.
   */
  source: string;
  /**
   * The identity of the store that holds the step, copied from the request; required since version 2.
   */
  store?: string | null;
  /**
   * Proof that an answer belongs to this request, copied from the request unchanged; required since version 2.
   */
  proof?: string | null;
  /**
   * The task's uid.
   */
  correlationid: string;
  /**
   * Which run of the task, from 1.
   */
  run: number;
  /**
   * The step's key: the operation's name and the number of its call, as in `mail.send/1`.
   */
  step: string;
  /**
   * Which attempt of the step, from 1.
   */
  attempt: number;
  /**
   * The time of the progress: of two events the later one counts.
   */
  time: string;
  /**
   * JSON of any kind.
   */
  data?: unknown;
  /**
   * Used in place of `data` for bytes that are no JSON.
   */
  data_base64?: string | null;
}
/**
 * Revocation of a step: its result is no longer needed; never batched.
 */
export interface Revocation {
  /**
   * What kind of event this is.
   */
  type: "stepward.revocation";
  /**
   * The version of CloudEvents.
   */
  specversion: "1.0";
  /**
   * The same for each repetition.
   */
  id: string;
  /**
   * The process that sends it, which may ignore it.
   */
  source: string;
  /**
   * The queue of the step's Agent.
   */
  subject: string;
  /**
   * The task's uid.
   */
  correlationid: string;
  /**
   * Which run of the task, from 1.
   */
  run: number;
  /**
   * The step's key.
   */
  step: string;
  /**
   * The last requested attempt: no request up to it is needed. 0: only running attempts are revoked.
   */
  attempt?: number;
}
/**
 * Announcement of an Agent process in another language: it is alive and has room for that many requests. It is never batched, and is sent every third of a lease, which is 10 s unless set otherwise. A process that is silent for longer than a lease counts as dead.
 */
export interface Capacity {
  /**
   * What kind of event this is.
   */
  type: "stepward.capacity";
  /**
   * The version of CloudEvents.
   */
  specversion: "1.0";
  /**
   * A random id for each announcement.
   */
  id: string;
  /**
   * The process: `/stepward/orders/` and a suffix that no other process ever has.
   */
  source: string;
  /**
   * The queue of its Agent: `agents.mail`.
   */
  subject: string;
  /**
   * How many requests it processes at once; 0 while its service is down, and when it ends.
   */
  capacity: number;
  /**
   * How many it is processing now.
   */
  inflight?: number;
}
/**
 * What went wrong.
 */
export interface ErrorObject {
  /**
   * One line for people.
   */
  message: string;
  /**
   * The name of the exception.
   */
  type: string;
  /**
   * The data that the operation attached.
   */
  data: {};
}
