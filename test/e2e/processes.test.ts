import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Installation } from "../support/bailiff.js";
import { createInstallation, openAgent } from "../support/bailiff.js";
import { containersOf } from "../support/engine-containers.js";

let installation: Installation;

beforeEach(async () => {
  installation = await createInstallation({ worker: { warm: { idle_ms: 1_000 } } });
});

afterEach(async () => {
  await installation.remove();
});

test("SIGTERM ends what still runs at the end of the grace, records it and exits 0 (FB-50)", async () => {
  const bailiff = await installation.start("all", { worker: { shutdown_grace_ms: 6_000 } });
  const agent = await openAgent(installation, bailiff);
  const running = await agent.submit(
    ["sh", "-c", "echo began >> ledger; sleep 90; echo ended >> ledger"],
    { timeout_s: 200 },
    {},
  );
  const path = `/v1/commands/${running.body.command_id}`;
  await expect
    .poll(async () => (await bailiff.call(agent.key, "GET", path)).body.state, { timeout: 20_000 })
    .toBe("dispatched");
  expect(await bailiff.stop()).toBe(0);
  expect(await containersOf(installation.deployment)).toEqual([]);

  const again = await installation.start("all");
  const end = await again.call(agent.key, "GET", path);
  expect(end.body).toMatchObject({ state: "finished", outcome: "cancelled", effect: "unknown" });
  expect(await readFile(join(agent.directory, "ledger"), "utf8")).toBe("began\n");
  expect(await again.stop()).toBe(0);
});

test("a killed service loses nothing: what ran is lost, what was queued runs once (FB-43, FB-45)", async () => {
  const bailiff = await installation.start("all", { worker: { concurrency: 1 } });
  const agent = await openAgent(installation, bailiff);
  const running = await agent.submit(["sh", "-c", "echo first >> ledger; sleep 90"], { timeout_s: 200 }, {});
  await expect
    .poll(() => readFile(join(agent.directory, "ledger"), "utf8").catch(() => ""), { timeout: 20_000 })
    .toBe("first\n");
  const queued = await agent.submit(["sh", "-c", "echo second >> ledger"], {}, {});
  await bailiff.kill();

  const again = await installation.start("all", { worker: { concurrency: 1 } });
  const second = await again.call(agent.key, "GET", `/v1/commands/${queued.body.command_id}?wait=60`);
  expect(second.body).toMatchObject({ outcome: "completed", returncode: 0 });
  const first = await again.call(agent.key, "GET", `/v1/commands/${running.body.command_id}?wait=60`);
  expect(first.body).toMatchObject({ outcome: "lost", effect: "unknown", returncode: null });
  expect(await readFile(join(agent.directory, "ledger"), "utf8")).toBe("first\nsecond\n");
  await expect.poll(() => containersOf(installation.deployment), { timeout: 60_000 }).toEqual([]);
  expect(await again.stop()).toBe(0);
});

test("argv and output are in no log at info level, and every line of a command names it", async () => {
  const bailiff = await installation.start("all");
  const agent = await openAgent(installation, bailiff);
  const { body } = await agent.submit(["echo", "very-secret-word"]);
  expect(body.stdout).toBe("very-secret-word\n");
  const log = await bailiff.log();
  expect(log).not.toContain("very-secret-word");
  expect(log).not.toContain(agent.key.slice(-20));
  const lines = log
    .split("\n")
    .filter((line) => line.includes("command dispatched") || line.includes("command finished"));
  expect(lines.map((line) => JSON.parse(line).command_id)).toEqual([body.command_id, body.command_id]);
  await bailiff.stop();
});
