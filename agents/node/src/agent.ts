import { randomUUID } from "node:crypto";
import { readAddress } from "./address.js";
import { Attempts } from "./attempts.js";
import type { Broker, Delivery } from "./broker.js";
import type { Call } from "./call.js";
import { Refused, SettingsError } from "./errors.js";
import { capacity, readBatch, readRevocation } from "./events.js";
import { NatsBroker } from "./nats.js";
import { RabbitBroker } from "./rabbitmq.js";

/** A function that performs an operation; throw Refused or Unavailable to say what an error means for the step. */
export type Operation = (call: Call, ...args: never[]) => unknown;

/** How an Agent is set up. */
export interface AgentOptions {
  /** The name of the application. */
  app: string;
  /** The name of the Agent; its operations are declared under it in Python. */
  name: string;
  /** The broker's address, as the application's `transport` has it; by default that of STEPWARD_TRANSPORT. */
  transport?: string;
  /** The lease of requests, as the application has it: seconds, or text such as "10s". Default: STEPWARD_LEASE, or 10 s. */
  lease?: string | number;
  /** The number of requests that are worked on at once. Default: 16. */
  capacity?: number;
  /** The identity of the one store that is served (`stepward check` shows it). Default: every store. */
  store?: string;
  /** Receives a line for each fault. Default: stderr. */
  log?: (line: string) => void;
}

interface Offered {
  perform: Operation;
  undo: Operation | undefined;
}

const NAME = /^[A-Za-z0-9_-]{1,100}$/;
/** An application, or one of its partitions: `orders.p2`. */
const APP = /^[A-Za-z0-9_-]{1,100}(\.p[0-9]{1,2})?$/;
const LEASE = /^(\d+(?:\.\d+)?)(ms|s|m|h)?$/;
const UNITS: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
const MOST_CAPACITY = 100_000;
const ANNOUNCEMENTS_PER_LEASE = 3;
const LOOK_MILLISECONDS = 20;

/** An Agent: it takes requests from the queue of its name, and answers each with what its operation returns. */
export class Agent {
  readonly #options: AgentOptions & { capacity: number; log: (line: string) => void };
  readonly #lease: number;
  readonly #process: string;
  readonly #operations = new Map<string, Offered>();
  readonly #attempts: Attempts;
  readonly #broker: Broker;
  #isEnding = false;
  #ended: () => void = () => {};

  /** Throws a SettingsError. */
  constructor(options: AgentOptions) {
    const log = options.log ?? ((line: string) => console.error(line));
    this.#options = { capacity: 16, ...options, log };
    check(APP.test(options.app) && NAME.test(options.name), "app and name of A-Z a-z 0-9 _ -", `${options.app}, ${options.name}`);
    const { capacity: most } = this.#options;
    check(Number.isInteger(most) && most > 0 && most <= MOST_CAPACITY, `a capacity from 1 to ${MOST_CAPACITY}`, `${most}`);
    this.#lease = milliseconds(options.lease ?? process.env["STEPWARD_LEASE"] ?? "10s");
    this.#process = `${options.name}-${randomUUID()}`;
    this.#broker = this.#brokerAt(options.transport ?? process.env["STEPWARD_TRANSPORT"] ?? "");
    this.#attempts = new Attempts({
      capacity: most,
      limit: () => this.#broker.limit,
      store: options.store,
      perform: (call) => this.#perform(call),
      publish: (queue, body) => this.#broker.publish(queue, body),
      changed: () => this.#broker.roomChanged(),
      log,
    });
  }

  /** Offer an operation, under the name that its declaration in Python has. Throws a SettingsError if it is offered already. */
  operation(name: string, perform: Operation, undo?: Operation): this {
    check(!this.#operations.has(name), "each operation once", `${name} twice`);
    this.#operations.set(name, { perform, undo });
    return this;
  }

  /** Serve until `end` is called or the process receives SIGTERM or SIGINT; resolves once all requests are answered. */
  async run(): Promise<void> {
    const end = () => void this.end();
    process.once("SIGTERM", end).once("SIGINT", end);
    const ended = new Promise<void>((resolve) => (this.#ended = resolve));
    await this.#broker.open({
      delivered: (delivery) => void this.#serve(delivery),
      broadcast: (body) => this.#heed(body),
      room: () => this.#options.capacity - this.#attempts.held,
      failed: (message) => this.#options.log(message),
    });
    const announcing = setInterval(() => void this.#announce(), this.#lease / ANNOUNCEMENTS_PER_LEASE);
    await this.#announce();
    await ended;
    clearInterval(announcing);
    process.off("SIGTERM", end).off("SIGINT", end);
  }

  /** Take no further request, answer what is being worked on, and disconnect. */
  async end(): Promise<void> {
    if (this.#isEnding) {
      return;
    }
    this.#isEnding = true;
    await this.#announce();
    await this.#broker.rest();
    while (this.#attempts.held > 0) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_MILLISECONDS));
    }
    await this.#broker.close();
    this.#ended();
  }

  async #serve(delivery: Delivery): Promise<void> {
    const { requests, unreadable } = readBatch(delivery.body);
    for (const line of unreadable) {
      this.#options.log(`queue agents.${this.#options.name}: ${line}; it is dropped`);
    }
    await Promise.all(requests.map((request) => this.#attempts.receive(request, delivery.isReturned)));
    delivery.settle();
  }

  async #perform(call: Call): Promise<unknown> {
    const { operation, undo, data, agent } = call.request;
    const offered = this.#operations.get(operation.slice(agent.length + 1));
    const perform = undo === true ? offered?.undo : offered?.perform;
    if (perform === undefined || !operation.startsWith(`${agent}.`)) {
      const known = [...this.#operations.keys()].join(", ");
      const what = `${undo === true ? "an undo of " : ""}${operation}`;
      const error = new Refused(`Agent ${agent}: expected one of its operations (${known}), found a request for ${what}`);
      error.name = "UnknownOperation";
      throw error;
    }
    if (!Array.isArray(data)) {
      throw new Refused(`${operation}: expected a list of arguments, found other data, encrypted perhaps; this Agent has no key`);
    }
    return await perform(call, ...(data as never[]));
  }

  #heed(body: Uint8Array): void {
    const revocation = readRevocation(body);
    if (revocation !== undefined) {
      this.#attempts.revoke(revocation);
    }
  }

  async #announce(): Promise<void> {
    const { app, name } = this.#options;
    const free = this.#isEnding ? 0 : this.#options.capacity;
    try {
      await this.#broker.broadcast(capacity(app, name, this.#process, free, this.#attempts.held));
    } catch (error) {
      this.#options.log(`announcement: expected the broker to take it, found ${(error as Error).message}; it is sent again`);
    }
  }

  #brokerAt(transport: string): Broker {
    const { app, name, capacity: most } = this.#options;
    const address = readAddress(transport);
    return address.broker === "nats" ? new NatsBroker(address, app, name, this.#lease) : new RabbitBroker(address, app, name, most);
  }
}

function milliseconds(lease: string | number): number {
  const [, amount = "", unit = "s"] = LEASE.exec(String(lease)) ?? [];
  const found = Number(amount) * (UNITS[unit] ?? Number.NaN);
  check(found >= 1_000, "a lease of 1 s or longer", String(lease));
  return found;
}

function check(holds: boolean, expected: string, found: string): void {
  if (!holds) {
    throw new SettingsError(`Agent: expected ${expected}, found ${found.slice(0, 100)}; change it`);
  }
}
