// A client in TypeScript: its types come from the OpenAPI document alone. It tries what an application does with the API,
// and prints what it found as JSON.
import createClient from "openapi-fetch";
import { createParser } from "eventsource-parser";
import type { components, paths } from "./api.js";

declare const process: { argv: string[] };

type Task = components["schemas"]["TaskResource"];

const address = process.argv[2];
const token = process.argv[3];
const api = createClient<paths>({ baseUrl: address, headers: { Authorization: `Bearer ${token}` } });

function sure<T>(data: T | undefined, error: unknown): T {
  if (data === undefined) throw new Error(JSON.stringify(error));
  return data;
}

async function statuses(id: string): Promise<string[]> {
  const path = { task_id: id };
  const { data, error } = await api.GET("/api/v1/tasks/{task_id}/events", { params: { path }, parseAs: "stream" });
  const found: string[] = [];
  const parser = createParser({ onEvent: (event) => { if (event.event === "status") found.push((JSON.parse(event.data) as Task).state); } });
  const decoder = new TextDecoder();
  for await (const chunk of sure(data, error) as unknown as AsyncIterable<Uint8Array>) parser.feed(decoder.decode(chunk, { stream: true }));
  return found;
}

const submitted = await api.POST("/api/v1/tasks", {
  params: { header: { "Idempotency-Key": "order-1" } },
  body: { workflow: "approval", labels: { shop: "north" } },
});
sure(submitted.data, submitted.error);
const following = statuses("order-1");

const unknown = await api.GET("/api/v1/tasks/{task_id}", { params: { path: { task_id: "none" } } });
const refused = await api.POST("/api/v1/tasks", { body: { workflow: "no-such-workflow" } });

let shown = await api.GET("/api/v1/tasks/{task_id}", { params: { path: { task_id: "order-1" } } });
for (let tries = 0; shown.data?.state !== "waiting" && tries < 600; tries += 1) {
  await new Promise((resolve) => setTimeout(resolve, 100));
  shown = await api.GET("/api/v1/tasks/{task_id}", { params: { path: { task_id: "order-1" } } });
}
const stale = await api.POST("/api/v1/tasks/{task_id}/cancel", {
  params: { path: { task_id: "order-1" }, header: { "If-Match": '"another"' }, query: { reason: "by mistake" } },
});
const signalled = await api.POST("/api/v1/tasks/{task_id}/signals", {
  params: { path: { task_id: "order-1" } },
  body: { name: "approved", payload: { by: "Ada" } },
});
const told = await following;
const forked = await api.POST("/api/v1/tasks/{task_id}/fork", {
  params: { path: { task_id: "order-1" } },
  body: { from_step: "signal:approved/1", id: "order-2" },
});
const origin = await api.GET("/api/v1/tasks/{task_id}/provenance", { params: { path: { task_id: "order-2" } } });
const late = await api.POST("/api/v1/tasks/{task_id}/updates/{name}", {
  params: { path: { task_id: "order-1", name: "pay" }, header: { Prefer: "wait=1" } },
  body: { payload: 5 },
});
const listed = sure((await api.GET("/api/v1/tasks", { params: { query: { where: "label.shop = 'north' and id = 'order-1'", limit: 10 } } })).data, null);
const ended = sure((await api.GET("/api/v1/tasks/{task_id}", { params: { path: { task_id: "order-1" } } })).data, null);

console.log(JSON.stringify({
  submitted: submitted.data?.state,
  status: submitted.response.status,
  unknown: [unknown.response.status, unknown.error?.detail],
  refused: [refused.response.status, refused.error?.errors?.[0]?.field],
  stale: [stale.response.status, stale.error?.errors?.[0]?.field],
  fresh: signalled.data?.fresh,
  forked: [forked.data?.id, origin.data?.origin?.id, origin.data?.origin?.step],
  late: late.response.status,
  told,
  listed: listed.tasks.map((task) => [task.id, task.labels.shop]),
  output: ended.output,
}));
