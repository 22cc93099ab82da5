import type { ErrorObject } from "./wire.js";

/** A wrong use of this package, or a setting that is missing: what was expected, what was found, what to do. */
export class SettingsError extends Error {
  override name = "SettingsError";
}

/** An error of an operation that says what follows for the step. */
export class OperationError extends Error {
  /** `failed`: another attempt would fail too. `gave_up`: another attempt may succeed. */
  readonly outcome: "failed" | "gave_up";
  /** Whether the service may have acted although the attempt failed: the step is then undone like a completed one. */
  readonly maybeDone: boolean;
  /** What the workflow receives beside the message. */
  readonly data: Record<string, unknown>;

  constructor(
    outcome: "failed" | "gave_up",
    message: string,
    { maybeDone, data = {} }: { maybeDone: boolean; data?: Record<string, unknown> },
  ) {
    super(message);
    this.outcome = outcome;
    this.maybeDone = maybeDone;
    this.data = data;
  }
}

/** The service refuses for good: the step fails. The service has not acted unless `maybeDone` says so. */
export class Refused extends OperationError {
  override name = "Refused";

  constructor(message: string, { maybeDone = false, data = {} }: { maybeDone?: boolean; data?: Record<string, unknown> } = {}) {
    super("failed", message, { maybeDone, data });
  }
}

/** The service did not do its work this time: the step is repeated. The service may have acted unless `maybeDone` is false. */
export class Unavailable extends OperationError {
  override name = "Unavailable";

  constructor(message: string, { maybeDone = true, data = {} }: { maybeDone?: boolean; data?: Record<string, unknown> } = {}) {
    super("gave_up", message, { maybeDone, data });
  }
}

/** The error as a reply carries it. */
export function errorObject(error: unknown): ErrorObject {
  const named = error instanceof Error ? error : new Error(String(error));
  const data = error instanceof OperationError ? error.data : {};
  return { message: (named.message || named.name).slice(0, LONGEST_MESSAGE), type: named.name.slice(0, LONGEST_NAME), data };
}

const LONGEST_MESSAGE = 2_000;
const LONGEST_NAME = 100;
