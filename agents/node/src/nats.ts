// NATS JetStream as the broker of an Agent.
import { AckPolicy, jetstream, jetstreamManager } from "@nats-io/jetstream";
import type { ConsumerMessages, JetStreamClient, JsMsg } from "@nats-io/jetstream";
import { connect, credsAuthenticator, nanos, nkeyAuthenticator } from "@nats-io/transport-node";
import type { NatsConnection, NodeConnectionOptions } from "@nats-io/transport-node";
import type { Address } from "./address.js";
import { Names } from "./broker.js";
import type { Broker, Delivery, Listener } from "./broker.js";

const HEADER_BYTES = 1_024;
const PULL_MILLISECONDS = 1_000;
const PAUSE_MILLISECONDS = 1_000;
const MOST_UNACKNOWLEDGED = 100_000;
const KEPT_PER_LEASE = 3;
const RETURNED = "Stepward-Returned";
const NANOSECONDS = 1_000_000;

export class NatsBroker implements Broker {
  readonly #address: Address;
  readonly #agent: string;
  readonly #lease: number;
  readonly #names: Names;
  #connection!: NatsConnection;
  #stream!: JetStreamClient;
  #listener!: Listener;
  #pull: ConsumerMessages | undefined;
  #isResting = false;
  #pulling: Promise<void> = Promise.resolve();
  #wake: () => void = () => {};

  constructor(address: Address, app: string, agent: string, leaseMilliseconds: number) {
    this.#address = address;
    this.#agent = agent;
    this.#lease = leaseMilliseconds;
    this.#names = new Names(app, address.prefix);
  }

  get limit(): number {
    return (this.#connection.info?.max_payload ?? 1024 * 1024) - HEADER_BYTES;
  }

  async open(listener: Listener): Promise<void> {
    this.#listener = listener;
    this.#connection = await connect(options(this.#address));
    this.#stream = jetstream(this.#connection);
    this.#connection.subscribe(this.#names.told, {
      callback: (error, message) => (error === null ? listener.broadcast(message.data) : listener.failed(error.message)),
    });
    await this.#connection.flush();
    this.#pulling = this.#pullForEver();
  }

  roomChanged(): void {
    this.#wake();
  }

  async rest(): Promise<void> {
    this.#isResting = true;
    this.#wake();
    this.#pull?.stop();
    await this.#pulling;
  }

  async publish(queue: string, body: Uint8Array): Promise<void> {
    await this.#stream.publish(`${this.#names.root}.queue.${queue}`, body);
  }

  async broadcast(body: Uint8Array): Promise<void> {
    this.#connection.publish(this.#names.told, body);
  }

  async close(): Promise<void> {
    await this.#connection.drain();
  }

  async #pullForEver(): Promise<void> {
    while (!this.#isResting) {
      try {
        await this.#pullFrom(await this.#leaseOfConsumer());
      } catch (error) {
        this.#listener.failed(`queue agents.${this.#agent}: expected NATS to serve it, found ${(error as Error).message}`);
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MILLISECONDS).unref());
      }
    }
  }

  /** The lease of the queue's consumer in milliseconds; made if it does not exist. */
  async #leaseOfConsumer(): Promise<number> {
    const { consumers } = await jetstreamManager(this.#connection);
    const name = `agents_${this.#agent}`;
    const config = {
      durable_name: name,
      filter_subject: `${this.#names.root}.queue.agents.${this.#agent}`,
      ack_policy: AckPolicy.Explicit,
      ack_wait: nanos(this.#lease),
      max_ack_pending: MOST_UNACKNOWLEDGED,
    };
    const found = await consumers.info(this.#names.stream, name).catch(() => consumers.add(this.#names.stream, config));
    return (found.config.ack_wait ?? nanos(this.#lease)) / NANOSECONDS;
  }

  async #pullFrom(lease: number): Promise<void> {
    const consumer = await this.#stream.consumers.get(this.#names.stream, `agents_${this.#agent}`);
    while (!this.#isResting) {
      const room = this.#listener.room();
      if (room <= 0) {
        await new Promise<void>((resolve) => (this.#wake = resolve));
        continue;
      }
      this.#pull = await consumer.fetch({ max_messages: room, expires: PULL_MILLISECONDS });
      for await (const message of this.#pull) {
        this.#received(message, lease);
      }
    }
  }

  #received(message: JsMsg, lease: number): void {
    if (this.#isResting || this.#listener.room() <= 0) {
      message.nak();
      return;
    }
    this.#listener.delivered(delivery(message, lease));
  }
}

/** A message whose lease is kept until it is settled. */
function delivery(message: JsMsg, lease: number): Delivery {
  const keeping = setInterval(() => message.working(), lease / KEPT_PER_LEASE);
  return {
    body: message.data,
    isReturned: message.redelivered || message.headers?.has(RETURNED) === true,
    settle: () => {
      clearInterval(keeping);
      message.ack();
    },
    giveBack: () => {
      clearInterval(keeping);
      message.nak();
    },
  };
}

function options(address: Address): NodeConnectionOptions {
  const { login, tls, credentials, nkey } = address;
  const separator = login.indexOf(":");
  const entry = separator < 0 ? { token: decodeURIComponent(login) } : userOf(login, separator);
  const isFile = credentials !== undefined || nkey !== undefined;
  return {
    servers: address.hosts,
    maxReconnectAttempts: -1,
    waitOnFirstConnect: true,
    ...(login === "" || isFile ? {} : entry),
    ...(tls === undefined ? {} : { tls }),
    ...(credentials === undefined ? {} : { authenticator: credsAuthenticator(Buffer.from(credentials)) }),
    ...(nkey === undefined ? {} : { authenticator: nkeyAuthenticator(Buffer.from(nkey.trim())) }),
  };
}

function userOf(login: string, separator: number): { user: string; pass: string } {
  return { user: decodeURIComponent(login.slice(0, separator)), pass: decodeURIComponent(login.slice(separator + 1)) };
}
