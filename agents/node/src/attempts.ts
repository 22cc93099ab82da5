// The attempts that a process works on: each from its request to its reply.
import { Call } from "./call.js";
import { Refused } from "./errors.js";
import { failure, progress, reply, stepOf } from "./events.js";
import type { ReplyEvent, RequestEvent, Revocation } from "./wire.js";

/** Performs an attempt; the result is any JSON, undefined counts as null. */
export type Perform = (call: Call) => Promise<unknown>;

export interface AttemptOptions {
  capacity: number;
  /** Most bytes of a message at the broker. */
  limit: () => number;
  /** The identity of the one store that is served; undefined for every store. */
  store: string | undefined;
  perform: Perform;
  publish: (queue: string, body: Uint8Array) => Promise<void>;
  /** Called when an attempt began or ended. */
  changed: () => void;
  log: (line: string) => void;
}

type Ending = "late" | "revoked" | "replaced";
type Answer = Pick<ReplyEvent, "outcome"> & Partial<Pick<ReplyEvent, "data" | "maybedone">>;

interface Attempt {
  name: string;
  /** The latest delivery of the request: the reply goes to the queue that it names. */
  request: RequestEvent;
  end: (why: Ending) => void;
  dealtWith: Promise<void>;
}

const MOST_REVOCATIONS = 10_000;
const PAUSE_MILLISECONDS = 500;
const LONGEST_TIMER = 2 ** 31 - 1;
const WITHDRAWN = { message: "withdrawn before it began: the step's result is no longer wanted", type: "Withdrawn", data: {} };
const STOPPED: Answer = {
  outcome: "gave_up",
  maybedone: true,
  data: { message: "stopped, because the step's result is no longer wanted", type: "Withdrawn", data: {} },
};

export class Attempts {
  readonly #options: AttemptOptions;
  readonly #running = new Map<string, Attempt>();
  readonly #revoked = new Map<string, number>();
  readonly #waiting: (() => void)[] = [];
  /** Attempts whose operation has not returned. */
  #busy = 0;
  /** Requests that are not dealt with, those that wait for a slot included. */
  #held = 0;

  constructor(options: AttemptOptions) {
    this.#options = options;
  }

  /** How many requests are held, and operations are still running. */
  get held(): number {
    return Math.max(this.#held, this.#busy);
  }

  /** Deal with a request: resolves once it is answered, or needs no answer. */
  async receive(request: RequestEvent, isReturned: boolean): Promise<void> {
    this.#held += 1;
    try {
      await this.#receive(request, isReturned);
    } finally {
      this.#held -= 1;
      this.#options.changed();
    }
  }

  /** Stop the step that is revoked, and begin no attempt of it up to the revoked one. */
  revoke(revocation: Revocation): void {
    const step = stepOf(revocation), attempt = revocation.attempt ?? 0;
    this.#revoked.set(step, Math.max(attempt, this.#revoked.get(step) ?? 0));
    if (this.#revoked.size > MOST_REVOCATIONS) {
      const [oldest = step] = this.#revoked.keys();
      this.#revoked.delete(oldest);
    }
    for (const undo of [false, true]) {
      this.#running.get(`${step}${undo}`)?.end("revoked");
    }
  }

  async #receive(request: RequestEvent, isReturned: boolean): Promise<void> {
    const { store } = this.#options;
    if (store !== undefined && request.store !== store) {
      this.#options.log(`request: expected one of the store ${store}, found one of ${request.store}; give one of the two a prefix`);
      return;
    }
    const name = `${stepOf(request)}${request.undo ?? false}`;
    const running = this.#running.get(name);
    if (running !== undefined && request.attempt <= running.request.attempt) {
      if (request.attempt === running.request.attempt) {
        running.request = request; // it was delivered again: one call serves both
        await running.dealtWith;
      }
      return;
    }
    running?.end("replaced");
    if (await this.#mayBegin(request, isReturned)) {
      await this.#begin(name, request);
    }
  }

  async #mayBegin(request: RequestEvent, isReturned: boolean): Promise<boolean> {
    if (request.attempt > (this.#revoked.get(stepOf(request)) ?? 0)) {
      return true;
    }
    if (!isReturned) {
      await this.#publish(request, reply(request, { outcome: "gave_up", data: WITHDRAWN }, 0));
    }
    return false; // what was delivered before may still be worked on elsewhere
  }

  async #begin(name: string, request: RequestEvent): Promise<void> {
    const ending = new AbortController();
    const attempt: Attempt = { name, request, end: (why) => ending.abort(why), dealtWith: Promise.resolve() };
    this.#running.set(name, attempt);
    attempt.dealtWith = this.#work(attempt, ending).finally(() => this.#forget(attempt));
    await attempt.dealtWith;
  }

  async #work(attempt: Attempt, ending: AbortController): Promise<void> {
    const { request } = attempt, { signal } = ending;
    const ended = new Promise<undefined>((resolve) => signal.addEventListener("abort", () => resolve(undefined)));
    const late = new Promise<undefined>((resolve) => ending.signal.addEventListener("late", () => resolve(undefined)));
    const stopTimer = whenPast(request, () => {
      ending.abort("late");
      signal.dispatchEvent(new Event("late"));
    });
    try {
      if (!(await this.#takeSlot(request, signal, ended))) {
        if (signal.reason === "revoked") {
          await this.#reply(attempt, { outcome: "gave_up", data: WITHDRAWN }, 0);
        }
        return;
      }
      const call = new Call(request, signal, (value) => this.#options.publish(attempt.request.replyto, progress(request, value)));
      const performed = this.#perform(call);
      let answer = await Promise.race([performed, ended]);
      if (signal.reason === "revoked") {
        answer = await Promise.race([performed, late]); // nothing of the call runs any more
        answer = answer === undefined || answer.outcome === "completed" ? answer : STOPPED;
      }
      if (answer !== undefined && left(request) > 0 && signal.reason !== "replaced") {
        await this.#reply(attempt, answer, call.calls);
      }
    } finally {
      stopTimer();
    }
  }

  /** What the operation came to; it holds a slot until it has returned, also past its complete-by. */
  async #perform(call: Call): Promise<Answer> {
    try {
      const result = (await this.#options.perform(call)) ?? null;
      return { outcome: "completed", data: representable(call.request, result) };
    } catch (error) {
      return failure(error);
    } finally {
      this.#busy -= 1;
      for (const wake of this.#waiting.splice(0)) {
        wake();
      }
      this.#options.changed();
    }
  }

  /** Whether a slot was taken, after waiting for one: not if the attempt has ended before. */
  async #takeSlot(request: RequestEvent, signal: AbortSignal, ended: Promise<undefined>): Promise<boolean> {
    while (this.#busy >= this.#options.capacity && !signal.aborted) {
      await Promise.race([ended, new Promise<void>((resolve) => this.#waiting.push(resolve))]);
    }
    if (signal.aborted || left(request) <= 0) {
      return false;
    }
    this.#busy += 1; // in the turn of the look: of several that wait, the others look again
    return true;
  }

  /** Publish a reply until the broker has it, or the complete-by has passed; to each queue that asked meanwhile. */
  async #reply(attempt: Attempt, answer: Answer, calls: number): Promise<void> {
    let asked: RequestEvent;
    do {
      asked = attempt.request;
      let body = reply(asked, answer, calls);
      if (body.length > this.#options.limit()) {
        body = reply(asked, failure(tooLarge(asked, body.length, this.#options.limit())), calls);
      }
      await this.#publish(asked, body);
    } while (asked !== attempt.request);
    this.#forget(attempt); // at once, so that a request that comes now is answered for itself
  }

  #forget(attempt: Attempt): void {
    if (this.#running.get(attempt.name) === attempt) {
      this.#running.delete(attempt.name);
    }
  }

  async #publish(request: RequestEvent, body: Uint8Array): Promise<void> {
    while (left(request) > 0) {
      try {
        return await this.#options.publish(request.replyto, body);
      } catch (error) {
        this.#options.log(`reply: expected the broker to take it, found ${(error as Error).message}; it is sent again`);
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MILLISECONDS));
      }
    }
  }
}

function left(request: RequestEvent): number {
  return Date.parse(request.expirytime) - Date.now();
}

/** Call `act` at the complete-by of a request, unless the returned function is called before. */
function whenPast(request: RequestEvent, act: () => void): () => void {
  let timer: NodeJS.Timeout;
  const wait = () => {
    timer = setTimeout(() => (left(request) > 0 ? wait() : act()), Math.min(Math.max(left(request), 0), LONGEST_TIMER));
  };
  wait();
  return () => clearTimeout(timer);
}

/** The result, if JSON can hold it. */
function representable(request: RequestEvent, result: unknown): unknown {
  try {
    if (JSON.stringify(result) !== undefined) {
      return result;
    }
  } catch {
    // such as a cycle, or a BigInt
  }
  throw new Refused(`${request.operation}: expected a result that JSON can hold, found another; return plain values`, { maybeDone: true });
}

function tooLarge(request: RequestEvent, found: number, limit: number): Refused {
  const message = `${request.operation}: expected a reply of at most ${limit} bytes, found ${found}; return a reference instead`;
  const error = new Refused(message, { maybeDone: true });
  error.name = "PayloadTooLarge";
  return error;
}
