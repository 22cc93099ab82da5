import { Refused, Unavailable } from "./errors.js";
import type { RequestEvent } from "./wire.js";

const NOT_BEGUN = new Set([408, 425, 429]);
const EXCERPT = 200;

/** One attempt of a step, as an operation sees it. */
export class Call {
  /** The request, as the Scheduler sent it. */
  readonly request: RequestEvent;
  /** Aborted at the complete-by, and when the step's result is no longer wanted: stop then. */
  readonly signal: AbortSignal;
  /** How often the service was called. */
  calls = 0;
  readonly #report: (value: unknown) => Promise<void>;

  constructor(request: RequestEvent, signal: AbortSignal, report: (value: unknown) => Promise<void>) {
    this.request = request;
    this.signal = signal;
    this.#report = report;
  }

  /** The same in every attempt of the step: the service acts once per key. */
  get idempotencyKey(): string {
    return this.request.idempotencykey;
  }

  /** After it the Agent stops and sends nothing. */
  get completeBy(): Date {
    return new Date(this.request.expirytime);
  }

  /** The last progress that an earlier attempt reported; undefined for none. */
  get lastProgress(): unknown {
    return this.request.progress == null ? undefined : JSON.parse(this.request.progress);
  }

  /** The headers with which the service is called: key, complete-by, trace, and in an undo what it undoes. */
  get headers(): Record<string, string> {
    const { idempotencykey, expirytime, traceparent, undoes } = this.request;
    return {
      "Idempotency-Key": idempotencykey,
      "Stepward-Complete-By": expirytime,
      ...(traceparent == null ? {} : { traceparent }),
      ...(undoes == null ? {} : { "Stepward-Undoes": undoes }),
    };
  }

  /** Report progress: JSON of at most 2 KiB. It is kept for the next attempt, and shown to operators. */
  async report(value: unknown): Promise<void> {
    await this.#report(value);
  }

  /** `fetch` with the headers and the signal of the call, counted as a call of the service. */
  async fetch(url: string | URL, init: RequestInit = {}): Promise<Response> {
    this.calls += 1;
    const headers = new Headers(init.headers);
    for (const [name, value] of Object.entries(this.headers)) {
      headers.set(name, value);
    }
    return await fetch(url, { ...init, headers, signal: this.signal });
  }

  /**
   * The JSON of a service's answer; undefined if it is empty. Throws Refused for what the service refuses for good, and
   * Unavailable for what may pass.
   */
  async json(method: string, url: string | URL, body?: unknown): Promise<unknown> {
    const content = body === undefined ? {} : { body: JSON.stringify(body), headers: { "Content-Type": "application/json" } };
    let response: Response, text: string;
    try {
      response = await this.fetch(url, { method, ...content });
      text = await response.text();
    } catch (error) {
      throw new Unavailable(`${method} ${new URL(url).pathname}: expected an answer, found ${(error as Error).message}`);
    }
    const { status } = response;
    const found = `${method} ${new URL(url).pathname}: expected success, found ${status} ${text.slice(0, EXCERPT)}`.trimEnd();
    if (response.ok) {
      return text === "" ? undefined : JSON.parse(text);
    }
    if (status >= 500 || NOT_BEGUN.has(status)) {
      throw new Unavailable(found, { maybeDone: status >= 500, data: { status } });
    }
    throw new Refused(found, { maybeDone: status < 400 || status === 409, data: { status } });
  }
}
