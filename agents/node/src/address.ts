// A broker's address, as `transport` of an application has it.
import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import { SettingsError } from "./errors.js";

/** The servers of an address, and how they are reached. */
export interface Address {
  broker: "nats" | "rabbitmq";
  hosts: string[];
  /** USER:PASSWORD or a token, as the address has it; empty if there is none. */
  login: string;
  /** The part after the hosts, such as RabbitMQ's virtual host. */
  path: string;
  /** The prefix of an application's names at the broker. */
  prefix: string;
  /** Undefined for a connection without TLS. */
  tls?: { ca?: string; cert?: string; key?: string };
  /** The text of a user's credentials at NATS. */
  credentials?: string;
  /** The text of an NKey seed at NATS. */
  nkey?: string;
}

const SCHEMES = { nats: "nats", tls: "nats", amqp: "rabbitmq", amqps: "rabbitmq" } as const;
const ENCRYPTED = new Set(["tls", "amqps"]);
const FILES = ["ca", "certificate", "key"];
const OPTIONS = new Set(["prefix", "replicas", "plaintext", "credentials", "nkey", ...FILES]);
const ADDRESS = /^([a-z]+):\/\/(?:([^@/?]*)@)?([^@/?]+)(\/[^?]*)?(?:\?(.*))?$/;
const EXAMPLE = "nats://HOST:4222, tls://, amqp://USER:PASSWORD@HOST:5672/VHOST or amqps://";

/** Read an address. Throws a SettingsError. */
export function readAddress(text: string): Address {
  const [, scheme = "", login = "", hosts = "", path = "", query = ""] = ADDRESS.exec(text) ?? [];
  if (!(scheme in SCHEMES)) {
    throw refused(`an address such as ${EXAMPLE}`, "something else");
  }
  const broker = SCHEMES[scheme as keyof typeof SCHEMES];
  const options = new URLSearchParams(query);
  const unknown = [...options.keys()].find((name) => !OPTIONS.has(name));
  if (unknown !== undefined) {
    throw refused(`the options ${[...OPTIONS].join(", ")}`, unknown.slice(0, 50));
  }
  const address: Address = { broker, hosts: hosts.split(","), login, path, prefix: options.get("prefix") ?? "" };
  const isEncrypted = ENCRYPTED.has(scheme) || (broker === "nats" && FILES.some((name) => options.has(name)));
  if (isEncrypted) {
    address.tls = { ...file(options, "ca", "ca"), ...file(options, "certificate", "cert"), ...file(options, "key", "key") };
  } else if (options.get("plaintext") !== "allowed") {
    refusePlaintext(address.hosts);
  }
  return { ...address, ...file(options, "credentials", "credentials"), ...file(options, "nkey", "nkey") };
}

function refusePlaintext(hosts: string[]): void {
  const away = hosts.map(hostOf).find((host) => !isLocal(host));
  if (away !== undefined) {
    throw refused(`TLS to the host ${away}`, "none; write tls:// or amqps://, or add ?plaintext=allowed where the network is trusted");
  }
}

function hostOf(host: string): string {
  return host.startsWith("[") ? host.slice(1, host.indexOf("]")) : host.replace(/:\d+$/, "");
}

function isLocal(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));
}

function file<Name extends string>(options: URLSearchParams, option: string, name: Name): { [Key in Name]?: string } {
  const path = options.get(option);
  if (path === null) {
    return {};
  }
  try {
    return { [name]: readFileSync(path, "utf8") } as { [Key in Name]?: string };
  } catch (error) {
    throw refused(`${option}=${path} to name a readable file`, (error as Error).message);
  }
}

function refused(expected: string, found: string): SettingsError {
  return new SettingsError(`transport: expected ${expected}, found ${found}; change it`);
}
