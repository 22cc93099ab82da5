// RabbitMQ as the broker of an Agent.
import { randomUUID } from "node:crypto";
import amqplib from "amqplib";
import type { Channel, ChannelModel, ConfirmChannel, ConsumeMessage } from "amqplib";
import type { Address } from "./address.js";
import { Names } from "./broker.js";
import type { Broker, Listener } from "./broker.js";
import { REQUEST_QUEUE_ARGUMENTS } from "./wire.js";

const LIMIT = 15 * 1024 * 1024;
const HEARTBEAT_SECONDS = 3;
const PAUSE_MILLISECONDS = 1_000;
const BATCH = "application/cloudevents-batch+json";
const SINGLE = "application/cloudevents+json";
const RETURNED = "stepward-returned";
const BROADCAST_QUEUE = { "x-expires": 3_600_000, "x-max-length": 1_000 };
const REFUSED = 403;

/** The channels of one connection. */
interface Line {
  connection: ChannelModel;
  requests: Channel;
  sending: ConfirmChannel;
  broadcasts: string;
}

export class RabbitBroker implements Broker {
  readonly limit = LIMIT;
  readonly #address: Address;
  readonly #capacity: number;
  readonly #names: Names;
  readonly #queue: string;
  #listener!: Listener;
  #line: Line | undefined;
  #next = 0;
  #isResting = false;
  #isClosed = false;
  /** The consumer of requests; undefined while none is wanted. */
  #tag: string | undefined;
  /** Starts and ends of the consumer, one after the other. */
  #changing: Promise<void> = Promise.resolve();

  constructor(address: Address, app: string, agent: string, capacity: number) {
    this.#address = address;
    this.#capacity = capacity;
    this.#names = new Names(app, address.prefix);
    this.#queue = `${this.#names.root}.agents.${agent}`;
  }

  async open(listener: Listener): Promise<void> {
    this.#listener = listener;
    await this.#connectForEver();
  }

  roomChanged(): void {
    this.#changing = this.#changing.then(() => this.#consumeOrRest()).catch((error: Error) => this.#failed(error));
  }

  async rest(): Promise<void> {
    this.#isResting = true;
    this.roomChanged();
    await this.#changing;
  }

  async publish(queue: string, body: Uint8Array): Promise<void> {
    const { sending } = this.#connected();
    const options = { contentType: BATCH, persistent: true, messageId: randomUUID() };
    await new Promise<void>((resolve, reject) => {
      // The exchange moves replies to Schedulers that have ended to their successors.
      sending.publish(`${this.#names.root}.queues`, queue, Buffer.from(body), options, (error) =>
        error ? reject(error) : resolve(),
      );
    });
  }

  async broadcast(body: Uint8Array): Promise<void> {
    this.#connected().sending.publish(this.#names.told, "", Buffer.from(body), { contentType: SINGLE });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const line = this.#line;
    this.#line = undefined;
    if (line !== undefined) {
      await line.requests.deleteQueue(line.broadcasts).catch(() => undefined);
      await line.sending.waitForConfirms();
      await line.requests.close();
      await line.connection.close();
    }
  }

  #connected(): Line {
    if (this.#line === undefined) {
      throw new Error("no connection to RabbitMQ");
    }
    return this.#line;
  }

  #failed(error: Error): void {
    if (!this.#isClosed) {
      this.#listener.failed(`${this.#queue}: expected RabbitMQ to do its part, found ${error.message}`);
    }
  }

  async #connectForEver(): Promise<void> {
    while (!this.#isClosed) {
      try {
        await this.#connect();
        return;
      } catch (error) {
        this.#failed(error as Error);
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MILLISECONDS));
      }
    }
  }

  async #connect(): Promise<void> {
    const { hosts } = this.#address;
    const host = hosts[this.#next++ % hosts.length] ?? "";
    const connection = await amqplib.connect(url(this.#address, host), socketOptions(this.#address, host));
    connection.on("error", (error: Error) => this.#failed(error));
    try {
      await this.#open(connection);
    } catch (error) {
      await connection.close().catch(() => undefined);
      throw error;
    }
    this.roomChanged();
  }

  async #open(connection: ChannelModel): Promise<void> {
    await declared(connection, async (channel) => {
      await channel.assertQueue(this.#queue, { durable: true, arguments: REQUEST_QUEUE_ARGUMENTS });
    });
    await declared(connection, async (channel) => {
      await channel.assertExchange(this.#names.told, "fanout", { durable: true });
    });
    const requests = await connection.createChannel(), sending = await connection.createConfirmChannel();
    for (const channel of [requests, sending]) {
      channel.on("error", (error: Error) => this.#failed(error));
      channel.on("close", () => this.#isClosed || leave(connection));
    }
    const line: Line = { connection, requests, sending, broadcasts: this.#broadcastQueue() };
    await requests.assertQueue(line.broadcasts, { durable: true, arguments: BROADCAST_QUEUE });
    await requests.bindQueue(line.broadcasts, this.#names.told, "");
    await requests.consume(line.broadcasts, (message) => message && this.#listener.broadcast(message.content), { noAck: true });
    await requests.prefetch(this.#capacity);
    this.#tag = undefined;
    this.#line = line;
    connection.on("close", () => this.#lost(line));
  }

  #broadcastQueue(): string {
    const [user = ""] = this.#address.login.split(":");
    return [this.#names.told, decodeURIComponent(user), randomUUID()].filter((part) => part !== "").join(".");
  }

  #lost(line: Line): void {
    if (this.#line === line) {
      this.#line = undefined;
      this.#tag = undefined;
      void this.#connectForEver();
    }
  }

  async #consumeOrRest(): Promise<void> {
    const line = this.#line, isWanted = !this.#isResting && this.#listener.room() > 0;
    if (line === undefined || isWanted === (this.#tag !== undefined)) {
      return;
    }
    if (isWanted) {
      const tag = (this.#tag = randomUUID());
      await line.requests.consume(this.#queue, (message) => this.#received(message, line), { consumerTag: tag });
    } else if (this.#tag !== undefined) {
      const tag = this.#tag;
      this.#tag = undefined;
      await line.requests.cancel(tag);
    }
  }

  #received(message: ConsumeMessage | null, line: Line): void {
    if (message === null) {
      leave(line.connection); // the queue was deleted: it is declared again
      return;
    }
    const isCurrent = () => this.#line === line;
    if (this.#isResting || this.#listener.room() <= 0) {
      line.requests.nack(message);
      return;
    }
    const { headers } = message.properties;
    this.#listener.delivered({
      body: message.content,
      isReturned: message.fields.redelivered || headers?.[RETURNED] !== undefined,
      settle: () => isCurrent() && line.requests.ack(message),
      giveBack: () => isCurrent() && line.requests.nack(message),
    });
    this.roomChanged();
  }
}

/** Close a connection, which may be closing already. */
function leave(connection: ChannelModel): void {
  connection.close().catch(() => undefined);
}

/** Declare over a channel of its own; a login that may not declare uses what others declared. */
async function declared(connection: ChannelModel, declare: (channel: Channel) => Promise<void>): Promise<void> {
  const channel = await connection.createChannel();
  channel.on("error", () => undefined); // the declaration rejects with it
  try {
    await declare(channel);
    await channel.close();
  } catch (error) {
    if ((error as { code?: number }).code !== REFUSED) {
      throw error;
    }
  }
}

function url(address: Address, host: string): string {
  const scheme = address.tls === undefined ? "amqp" : "amqps";
  const login = address.login === "" ? "" : `${address.login}@`;
  return `${scheme}://${login}${host}${address.path}?heartbeat=${HEARTBEAT_SECONDS}`;
}

function socketOptions(address: Address, host: string): Record<string, unknown> {
  const { tls } = address;
  if (tls === undefined) {
    return {};
  }
  const isLogin = tls.cert !== undefined && !address.login.includes(":");
  return {
    servername: host.replace(/:\d+$/, ""),
    ...tls,
    ...(tls.ca === undefined ? {} : { ca: [tls.ca] }),
    ...(isLogin ? { credentials: amqplib.credentials.external() } : {}),
  };
}
