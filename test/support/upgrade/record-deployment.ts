import { writeFile } from "node:fs/promises";
import { Redis } from "ioredis";
import { startApi } from "../../../src/main/api.js";
import { startWorker } from "../../../src/main/worker.js";
import { type Answer, createInstallation } from "../bailiff.js";
import { freshId, IDLE } from "../redis-fixtures.js";
import { startRedisServer } from "../redis-server.js";
import { until } from "../until.js";
import { layPartsOver, ledgerArgv, ownImage } from "./parts-in-process.js";
import { type KeptDeployment, takeSnapshot, writeShared } from "./snapshot.js";

/**
 * Keeps what this version writes for a test of the next one: `npx tsx test/support/upgrade/record-deployment.ts FILE`, run once,
 * before the format of records changes. Nothing in the file is made up: it is what API, worker and reconciler left in Redis.
 */
const [file] = process.argv.slice(2);
if (file === undefined) throw new Error("name the file to write");

const installation = await createInstallation();
const server = await startRedisServer();
const redis = new Redis(server.url);
const foundation = await layPartsOver(installation, server.url);
const { stores } = foundation;
const api = await startApi(foundation);
const key = await installation.key("acme");
const reviewer = await installation.key("acme", ["admin"], "reviewer");

const call = async (as: string, method: string, path: string, body?: unknown, headers = {}) => {
  const response = await fetch(`${api.url}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${as}`,
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return (await response.json()) as Answer["body"];
};
const show = (id: string) => call(key, "GET", `/v1/commands/${id}`);

await call(key, "PUT", "/v1/workspaces/main");
const { session_id: granted } = await call(key, "POST", "/v1/sessions", {
  workspace_id: "main",
  grant: { level: "allow_all", dispatches: 100, vectors: [{ argv: ["true"], match: "exact", uses: 5 }] },
  budget: { wall_seconds: 1_000, cpu_seconds: 1_000 },
  webhook: { url: "https://receiver.invalid/hook" },
});
const { session_id: asking } = await call(key, "POST", "/v1/sessions", {
  workspace_id: "main",
  grant: { level: "allowlist" },
});
await call(key, "PUT", `/v1/sessions/${granted}/objects/notes`, {
  sensitivity: "normal",
  trust: "unknown",
  categories: [],
});

/** Submits a command that appends its name to the ledger. */
const submit = async (session: string, name: string, more = {}, headers = {}): Promise<string> => {
  const argv = ledgerArgv(name);
  const answer = await call(key, "POST", `/v1/sessions/${session}/commands`, { argv, ...more }, headers);
  return answer.command_id;
};
/** Dispatches a command as a worker that dies at once. */
const dispatchAndDie = async (commandId: string) => {
  const workerId = freshId("wrk");
  await stores.leases.heartbeat({ workerId, engineId: "engine-gone", leaseMs: 500, status: IDLE });
  const session = await stores.sessions.get("acme", granted);
  if (session === null) throw new Error("no session");
  const claim = await stores.commands.claim({
    commandId,
    workerId,
    fence: freshId("fen"),
    containerId: `container-of-${commandId}`,
    seen: { sessionVersion: session.version, label: session.label },
  });
  if (claim.kind !== "claimed") throw new Error(claim.kind);
};
const approve = (commandId: string) =>
  call(reviewer, "POST", `/v1/approvals/${commandId.replace("cmd_", "apr_")}/decision`, {
    decision: "approve",
    note: "looked at",
  });

const cancelled = await submit(granted, "cancelled");
await call(key, "POST", `/v1/commands/${cancelled}/cancel`, {});
const lost = await submit(granted, "lost", { timeout_s: 1 });
await dispatchAndDie(lost);
const completed = await submit(
  granted,
  "completed",
  { source_objects: ["notes"], reason: "to be kept" },
  {
    "idempotency-key": "kept-completed",
    traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
  },
);
const consumed = await submit(asking, "consumed");
await approve(consumed);
const worker = await startWorker(foundation, { runtime: ownImage });
await until(async () => {
  const states = await Promise.all([completed, lost, consumed].map(async (id) => (await show(id)).state));
  return states.every((state) => state === "finished");
});
await worker.stop("the rest is to be found as it is");
const denied = (await call(key, "POST", `/v1/sessions/${asking}/commands`, { argv: ["git", "push"] }))
  .command_id;

const queued = await submit(granted, "queued", {}, { "idempotency-key": "kept-queued" });
const withdrawn = await submit(granted, "withdrawn");
const dispatched = await submit(granted, "dispatched", { timeout_s: 1 });
await dispatchAndDie(dispatched);
const cancelling = await submit(granted, "cancelling", { timeout_s: 1, source_objects: ["notes"] });
await dispatchAndDie(cancelling);
await call(key, "POST", `/v1/commands/${cancelling}/cancel`, {});
const pending = await submit(asking, "pending");
const approved = await submit(asking, "approved");
await approve(approved);

const finished: Record<string, unknown> = {};
for (const [name, id] of Object.entries({ completed, consumed, lost, cancelled, denied })) {
  const { decision: _, ...answer } = await show(id);
  finished[name] = answer;
}
await api.stop("it is kept as it is");
const kept: KeptDeployment = {
  sessions: { granted, asking },
  commands: { queued, withdrawn, dispatched, cancelling, pending, approved },
  finished,
  snapshot: await takeSnapshot(redis, installation.deployment),
};
await writeFile(file, writeShared(kept));
redis.disconnect();
await foundation.closers.closeAll();
await installation.remove();
await server.stop();
process.exit(0);
