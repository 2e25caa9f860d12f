import { createPublicKey } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Redis } from "ioredis";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createKeys } from "../../src/adapters/redis/keys.js";
import { startApi } from "../../src/main/api.js";
import { publicKeyOf, startEvidence } from "../../src/main/evidence.js";
import type { Foundation } from "../../src/main/foundation.js";
import { startWorker } from "../../src/main/worker.js";
import { type Answer, createInstallation, type Installation } from "../support/bailiff.js";
import { verifyLines } from "../support/evidence.js";
import { expectConsistent } from "../support/redis-invariants.js";
import { type RedisServer, startRedisServer } from "../support/redis-server.js";
import { until } from "../support/until.js";
import { layPartsOver, ledgerArgv, ownImage } from "../support/upgrade/parts-in-process.js";
import { readShared, restoreSnapshot } from "../support/upgrade/snapshot.js";

/** The tests are steps of one upgrade, in the order of this file. */
const keptFile = new URL("../support/upgrade/format-1.json", import.meta.url);
const { sessions, commands, finished, snapshot } = readShared(await readFile(keptFile, "utf8"));
const allIds = [
  ...Object.values(commands),
  ...Object.values(finished).map((answer) => (answer as { command_id: string }).command_id),
];

let server: RedisServer;
let redis: Redis;
let installation: Installation;
let foundation: Foundation;
let url: string;
let agent: string;
let reviewer: string;
let ledger: () => Promise<string>;

beforeAll(async () => {
  server = await startRedisServer();
  redis = new Redis(server.url);
  installation = await createInstallation();
  await restoreSnapshot(redis, installation.deployment, snapshot);
  foundation = await layPartsOver(installation, server.url);
  agent = await installation.key("acme");
  reviewer = await installation.key("acme", ["admin"], "reviewer");
  const api = await startApi(foundation);
  foundation.closers.add("api", () => api.stop("the test is over"));
  url = api.url;
  await call(agent, "PUT", "/v1/workspaces/main");
  ledger = () => readFile(join(installation.workspacesRoot, "acme", "main", "ledger"), "utf8");
});
afterAll(async () => {
  await foundation?.closers.closeAll();
  redis?.disconnect();
  await installation?.remove();
  await server?.stop();
});

async function call(as: string, method: string, path: string, body?: unknown, headers = {}) {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${as}`,
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return (await response.json()) as Answer["body"];
}
const show = (id: string) => call(agent, "GET", `/v1/commands/${id}`);
const submit = (session: string, body: object, headers = {}) =>
  call(agent, "POST", `/v1/sessions/${session}/commands`, body, headers);
const decide = (as: string, commandId: string) =>
  call(as, "POST", `/v1/approvals/${commandId.replace("cmd_", "apr_")}/decision`, { decision: "approve" });
const formatOf = (commandId: string) =>
  redis.hget(createKeys(installation.deployment).command(commandId), "formatVersion");

/** What the API said of a command, but for its times, which the restored records have anew, and its webhook, which is tried again. */
function lasting(answer: object): object {
  const isLasting = ([name]: [string, unknown]) => !name.endsWith("_at") && name !== "webhook";
  const { decision: _, approval, ...rest } = answer as Record<string, unknown>;
  const lastingOf = (part: object) => Object.fromEntries(Object.entries(part).filter(isLasting));
  return { ...lastingOf(rest), approval: approval ? lastingOf(approval) : null };
}

test("what had ended is answered as before, alone and in the listing", async () => {
  const listed = (await call(agent, "GET", "/v1/commands?limit=100")).commands as Answer["body"][];
  expect(listed.map(({ command_id }) => command_id).sort()).toEqual([...allIds].sort());
  for (const before of Object.values(finished) as Answer["body"][]) {
    const now = await show(before.command_id);
    expect(lasting(now)).toEqual(lasting(before));
    const kept = snapshot.keys[`cmd:${before.command_id}`];
    const hash = kept !== undefined && "hash" in kept ? kept.hash : {};
    const codes = JSON.parse(hash["decision"] ?? "").layers.map((layer: { code: string }) => layer.code);
    expect(now.decision.layers.map((layer: { code: string }) => layer.code)).toEqual(codes);
    expect(now.created_at <= now.finished_at).toBe(true);
    expect(now.webhook?.event).toBe(before.webhook?.event);
    const row = listed.find(({ command_id }) => command_id === before.command_id);
    expect(row).toMatchObject({ state: "finished", outcome: before.outcome, argv: before.argv });
  }
});

test("a repeated submit gets the command of the first one, and another request under its key none", async () => {
  const again = await submit(
    sessions.granted,
    { argv: ledgerArgv("queued") },
    { "idempotency-key": "kept-queued" },
  );
  expect(again).toMatchObject({ command_id: commands.queued, state: "queued" });
  const ended = await submit(
    sessions.granted,
    { argv: ledgerArgv("completed"), source_objects: ["notes"], reason: "to be kept" },
    { "idempotency-key": "kept-completed" },
  );
  expect(ended.command_id).toBe((finished["completed"] as Answer["body"]).command_id);
  const other = await submit(sessions.granted, { argv: ["true"] }, { "idempotency-key": "kept-queued" });
  expect(other.code).toBe("idempotency_mismatch");
});

test("a queued one can be cancelled, and one that waits for a person approved by another one only", async () => {
  const cancelled = await call(agent, "POST", `/v1/commands/${commands.withdrawn}/cancel`, {});
  expect(cancelled).toMatchObject({ state: "finished", outcome: "cancelled", effect: "none" });

  const pending = (await call(agent, "GET", "/v1/approvals?state=pending")).approvals;
  expect(pending.map((each: Answer["body"]) => each.command_id)).toEqual([commands.pending]);
  expect((await submit(sessions.asking, { argv: ledgerArgv("pending") })).command_id).toBe(commands.pending);
  expect(await decide(agent, commands.pending)).toMatchObject({
    code: "conflict",
    approval_state: "pending",
  });
  expect((await decide(reviewer, commands.pending)).state).toBe("approved");
});

test("what was to run runs once, what a dead worker ran is lost, and a new command beside them is written in the new format", async () => {
  const worker = await startWorker(foundation, { runtime: ownImage });
  foundation.closers.add("worker", () => worker.stop("the test is over"));
  const recent = (await submit(sessions.granted, { argv: ledgerArgv("recent") })).command_id;
  const ran = [commands.queued, commands.pending, commands.approved, recent];
  const lost = [commands.dispatched, commands.cancelling];
  await until(async () => {
    const states = await Promise.all([...ran, ...lost].map(async (id) => (await show(id)).state));
    return states.every((state) => state === "finished");
  }, 100_000);

  for (const id of ran)
    expect(await show(id)).toMatchObject({
      outcome: "completed",
      returncode: 3,
      stdout: "out",
      stderr: "err",
    });
  expect((await show(commands.pending)).approval.state).toBe("consumed");
  for (const id of lost) expect(await show(id)).toMatchObject({ outcome: "lost", effect: "unknown" });
  expect((await show(commands.cancelling)).cancel_requested).toBe(true);
  expect((await ledger()).split("\n").filter(Boolean).sort()).toEqual([
    "approved",
    "pending",
    "queued",
    "recent",
  ]);
  for (const id of allIds) expect(await formatOf(id)).toBe("1");
  expect(await formatOf(recent)).toBe("2");
  const granted = { dispatches: 100, wallMs: 1_000_000, cpuMs: 1_000_000 };
  await expectConsistent({ deployment: installation.deployment, redis }, { [sessions.granted]: granted });
});

test("the evidence that was owed becomes records that verify, one end of each command", async () => {
  const evidence = await startEvidence(foundation);
  const outbox = createKeys(installation.deployment).evidenceOutbox;
  await until(async () => (await redis.xlen(outbox)) === 0);
  await evidence.stop("all is written");

  const file = join(foundation.config.evidence.directory, "acme.jsonl");
  const lines = (await readFile(file, "utf8")).split("\n").slice(0, -1);
  const publicKey = createPublicKey(await publicKeyOf(foundation.config));
  const verified = verifyLines(lines, publicKey, "acme");
  expect(verified.findings).toEqual([]);
  expect(verified.sealedSeq).toBe(verified.records);

  for (const id of allIds) {
    const now = await show(id);
    const { records } = await call(agent, "GET", `/v1/commands/${id}/evidence`);
    const bodies = records.map((each: Answer["body"]) => each.record);
    const ends = bodies.filter(({ kind }: Answer["body"]) => kind === "finished" || kind === "denied");
    expect(ends).toHaveLength(1);
    expect(ends[0]).toMatchObject({
      principal: "acme-person",
      image_digest: now.image_digest,
      result: { outcome: now.outcome, effect: now.effect },
    });
    for (const body of bodies) expect(body.request.argv).toEqual(now.argv);
  }
});
