// Writes src/wire.ts from the AsyncAPI document: node scripts/generate-wire-types.mjs DOCUMENT > src/wire.ts
import { readFileSync } from "node:fs";
import { compile } from "json-schema-to-typescript";

const KINDS = ["RequestEvent", "ReplyEvent", "ProgressEvent", "Revocation", "Capacity", "ErrorObject"];
const document = JSON.parse(readFileSync(process.argv[2] ?? "../../docs/asyncapi.json", "utf8"));
const { schemas } = document.components;
const definitions = Object.fromEntries(KINDS.map((kind) => [kind, plain(schemas[kind])]));
const root = {
  title: "WireEvents",
  description: "The events that an Agent receives and sends, by name.",
  type: "object",
  properties: Object.fromEntries(KINDS.map((kind) => [kind, { $ref: `#/definitions/${kind}` }])),
  additionalProperties: false,
  definitions,
};
const types = await compile(root, "WireEvents", { bannerComment: "", additionalProperties: false, style: { printWidth: 120 } });
const queue = document.channels["rabbitmq.requests"]["x-arguments"];
process.stdout.write(`// Generated from docs/asyncapi.json by scripts/generate-wire-types.mjs: do not edit.

/** The version of the wire. */
export const WIRE_VERSION = ${JSON.stringify(document.info.version)};

/** The arguments with which RabbitMQ's queues of requests are declared. */
export const REQUEST_QUEUE_ARGUMENTS = ${JSON.stringify(queue, null, 2)};

${types}`);

/** The schema without conditions, which types cannot say, and with references to the definitions here. */
function plain(schema) {
  const { if: _, then: __, ...rest } = JSON.parse(JSON.stringify(schema).replaceAll("#/components/schemas/", "#/definitions/"));
  const { data } = rest.properties;
  if (rest.title !== "ErrorObject" && data !== undefined) {
    data.tsType = "unknown"; // any JSON
  }
  return rest;
}
