// The part of a broker in an Agent: requests in, replies and broadcasts out.

/** A broker message that was delivered to this process. */
export interface Delivery {
  readonly body: Uint8Array;
  /** Whether another process may have had it before. */
  readonly isReturned: boolean;
  /** Acknowledge it: it never comes again. */
  settle(): void;
  /** Let the broker deliver it to another process at once. */
  giveBack(): void;
}

/** What a broker calls. */
export interface Listener {
  /** A broker message arrived; at most as many as there is room for. */
  delivered(delivery: Delivery): void;
  /** A broadcast to all processes arrived. */
  broadcast(body: Uint8Array): void;
  /** The number of further broker messages that may be delivered now. */
  room(): number;
  /** A fault that the broker's part deals with itself, in one line. */
  failed(message: string): void;
}

/** A connection to a broker, which is opened again whenever it is lost. */
export interface Broker {
  /** Most bytes of a message. */
  readonly limit: number;
  /** Connect, and deliver requests while `listener.room()` allows. Rejects for wrong settings alone. */
  open(listener: Listener): Promise<void>;
  /** There is room, or there is none any more. */
  roomChanged(): void;
  /** Deliver no further requests. */
  rest(): Promise<void>;
  /** Append a message to a queue; it is durable when this resolves. */
  publish(queue: string, body: Uint8Array): Promise<void>;
  /** Send a message to every process that listens now. */
  broadcast(body: Uint8Array): Promise<void>;
  /** Disconnect; settled messages are settled when this resolves. */
  close(): Promise<void>;
}

/** Names of an application's queues at a broker. */
export class Names {
  /** Prefix of subjects at NATS, of queues and exchanges at RabbitMQ. */
  readonly root: string;
  /** The stream at NATS, whose name may have no dot. */
  readonly stream: string;
  /** The exchange or subject of broadcasts. */
  readonly told: string;

  constructor(app: string, prefix: string) {
    this.root = prefix === "" ? `stepward.${app}` : `${prefix}.stepward.${app}`;
    const undotted = app.replace(".", "+");
    this.stream = prefix === "" ? `STEPWARD_${undotted}` : `${prefix}+STEPWARD_${undotted}`;
    this.told = `${this.root}.told`;
  }
}
