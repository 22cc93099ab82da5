// An operator's program in TypeScript: acts in bulk, schedules, sinks of alerts. Its types come from the OpenAPI document alone.
import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

declare const process: { argv: string[] };

type BatchAct = components["schemas"]["BatchAct"];

const address = process.argv[2];
const token = process.argv[3];
const api = createClient<paths>({ baseUrl: address, headers: { Authorization: `Bearer ${token}` } });

function sure<T>(data: T | undefined, error: unknown): T {
  if (data === undefined) throw new Error(JSON.stringify(error));
  return data;
}

async function until<T>(look: () => Promise<T>, holds: (found: T) => boolean): Promise<T> {
  for (let tries = 0; tries < 600; tries += 1) {
    const found = await look();
    if (holds(found)) return found;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error("expected an end within a minute, found none");
}

const act: BatchAct = { verb: "cancel", where: "workflow = 'approval'" };
const preview = await api.POST("/api/v1/batches/preview", { body: act });
const counted = sure(preview.data, preview.error);
const unconfirmed = await api.POST("/api/v1/batches", { body: { ...act, preview: counted.preview } });
const other = await api.POST("/api/v1/batches", { body: { ...act, verb: "undo", preview: counted.preview, confirm: counted.number } });
const started = await api.POST("/api/v1/batches", {
  body: { ...act, preview: counted.preview, confirm: counted.number, rate: 100, reason: "the campaign is over" },
});
const batch_id = sure(started.data, started.error).id;
const done = await until(
  async () => { const { data, error } = await api.GET("/api/v1/batches/{batch_id}", { params: { path: { batch_id } } }); return sure(data, error); },
  (batch) => batch.state === "done",
);
const stopped = await api.POST("/api/v1/batches/{batch_id}/stop", { params: { path: { batch_id } } });

const body = { name: "hourly", workflow: "greet", arguments: ["Ada"], every: "1h" };
const created = await api.POST("/api/v1/schedules", { body });
const taken = await api.POST("/api/v1/schedules", { body });
const path = { name: "hourly" };
const triggered = await api.POST("/api/v1/schedules/{name}/trigger", { params: { path } });
const paused = await api.POST("/api/v1/schedules/{name}/pause", { params: { path } });
const listed = sure((await api.GET("/api/v1/schedules")).data, null);
const removed = await api.DELETE("/api/v1/schedules/{name}", { params: { path } });
const gone = await api.POST("/api/v1/schedules/{name}/resume", { params: { path } });

const sinks = await until(async () => sure((await api.GET("/api/v1/alerts/sinks")).data, null), (found) => found.length > 0);
const absent = await api.POST("/api/v1/alerts/sinks/{name}/test", { params: { path: { name: "pager" } } });
const tested = await api.POST("/api/v1/alerts/sinks/{name}/test", { params: { path: { name: "log" } } });
const number = sure(tested.data, tested.error).number;
const receipts = await until(
  async () => sure((await api.GET("/api/v1/alerts/{number}/receipts", { params: { path: { number } } })).data, null),
  (found) => found.length > 0 && found[0].raised_at !== null,
);

const silence = { kind: "task_error", workflow: "approval" };
const silenced = await api.POST("/api/v1/alerts/silences", { body: { ...silence, until: "2h", note: "the bank knows" } });
const silences = sure((await api.GET("/api/v1/alerts/silences")).data, null);
const unsilenced = await api.POST("/api/v1/alerts/silences/end", { body: silence });
const bounded = await api.POST("/api/v1/limits/{name}", { params: { path: { name: "agent:pay" } }, body: { rate: "20/s" } });
const limits = sure((await api.GET("/api/v1/limits")).data, null);
const stats = sure((await api.GET("/api/v1/agents/stats")).data, null);
const undrained = await api.POST("/api/v1/instances/{instance}/drain", { params: { path: { instance: "none" } } });

console.log(JSON.stringify({
  counted: [counted.number, counted.needs_confirmation],
  refused: [unconfirmed.error?.errors?.[0]?.field, other.error?.errors?.[0]?.field],
  done: [done.done, done.refused, done.reason],
  stopped: stopped.response.status,
  created: [created.response.status, taken.response.status],
  triggered: triggered.response.status,
  paused: paused.response.status,
  listed: listed.map((each) => each.name),
  removed: [removed.response.status, gone.response.status],
  sinks: sinks.map((each) => each.name),
  tested: [absent.response.status, tested.response.status],
  receipts: receipts.map((each) => each.sink),
  silenced: [silenced.response.status, unsilenced.response.status],
  silences: silences.map((each) => [each.kind, each.workflow, each.note]),
  bounded: bounded.response.status,
  limits: limits.filter((each) => each.name === "agent:pay").map((each) => [each.rate, each.concurrency]),
  stats: stats.length,
  undrained: undrained.response.status,
}));
