import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type Agent, createInstallation, openAgent } from "../support/bailiff.js";
import { atWidth } from "../support/docker-bench.js";
import { containersOf } from "../support/engine-containers.js";
import { until } from "../support/until.js";

const CANCELS = 1_000;
const AT_ONCE = 16;
const LIMIT_MS = 120_000;
const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** Says in the ledger that it began, and, long after any cancel, that it went on. */
function cancelledProgram(index: number): string[] {
  return [
    "sh",
    "-c",
    'echo "began $1" >> ledger; sleep 20; echo "went-on $1" >> ledger',
    "sh",
    String(index),
  ];
}

async function ledger(agent: Agent): Promise<string[]> {
  const text = await readFile(join(agent.directory, "ledger"), "utf8").catch(() => "");
  return text.split("\n").filter((line) => line !== "");
}

test("a thousand cancels at random moments: each never started, or was killed with effect unknown, and none was both (FB-49)", async () => {
  const installation = await createInstallation({ worker: { concurrency: 4, warm: { max_containers: 0 } } });
  try {
    const service = await installation.start("all");
    const agent = await openAgent(installation, service);
    const read = async (id: string) => (await service.call(agent.key, "GET", `/v1/commands/${id}`)).body;

    const ids = await atWidth(CANCELS, AT_ONCE, async (index) => {
      const { body } = await agent.submit(cancelledProgram(index), { timeout_s: 60 }, {});
      const id: string = body.command_id;
      // Some time after the submit, wherever that finds it; every twelfth some time after its dispatch.
      if (index % 12 === 0) {
        await until(async () => (await read(id)).state !== "queued", LIMIT_MS);
        await pause(Math.random() * 30);
      } else {
        await pause(Math.random() * 200);
      }
      const answer = await service.call(agent.key, "POST", `/v1/commands/${id}/cancel`);
      expect(answer.status).toBeLessThan(300);
      return id;
    });
    const ends = await atWidth(CANCELS, AT_ONCE, async (index) => {
      const id = ids[index] ?? "";
      await until(async () => (await read(id)).state === "finished", LIMIT_MS);
      return read(id);
    });
    await until(async () => (await containersOf(installation.deployment)).length === 0, LIMIT_MS);

    const lines = await ledger(agent);
    const began = new Set(lines.filter((line) => line.startsWith("began")).map((line) => line.split(" ")[1]));
    expect(lines.filter((line) => line.startsWith("went-on"))).toEqual([]);
    expect(lines).toHaveLength(began.size);
    const counts = { neverStarted: 0, killed: 0, killedWithTrace: 0 };
    for (const [index, end] of ends.entries()) {
      expect(end.outcome).toBe("cancelled");
      if (end.effect === "none") {
        expect(began.has(String(index))).toBe(false);
        counts.neverStarted += 1;
      } else {
        expect(end.effect).toBe("unknown");
        counts.killed += 1;
        if (began.has(String(index))) counts.killedWithTrace += 1;
      }
    }
    process.stdout.write(`\n${CANCELS} cancels: ${JSON.stringify(counts)}\n`);
    // Both sides of the race were there to be lost.
    expect(counts.neverStarted).toBeGreaterThan(0);
    expect(counts.killedWithTrace).toBeGreaterThan(0);
  } finally {
    await installation.remove();
  }
});

test("deleting a session cancels what it has queued and what it runs, and its grant with them", async () => {
  const installation = await createInstallation({ worker: { concurrency: 1, warm: { max_containers: 0 } } });
  try {
    const service = await installation.start("all");
    const agent = await openAgent(installation, service);
    const read = async (id: string) => (await service.call(agent.key, "GET", `/v1/commands/${id}`)).body;
    const running = await agent.submit(cancelledProgram(0), { timeout_s: 60 }, {});
    await until(async () => (await ledger(agent)).length === 1, LIMIT_MS);
    const queued = await agent.submit(cancelledProgram(1), { timeout_s: 60 }, {});
    const deleted = await service.call(agent.key, "DELETE", `/v1/sessions/${agent.sessionId}`);
    expect(deleted.status).toBeLessThan(300);
    for (const { body } of [running, queued]) {
      await until(async () => (await read(body.command_id)).state === "finished", LIMIT_MS);
    }
    expect(await read(running.body.command_id)).toMatchObject({ outcome: "cancelled", effect: "unknown" });
    expect(await read(queued.body.command_id)).toMatchObject({ outcome: "cancelled", effect: "none" });
    expect(await ledger(agent)).toEqual(["began 0"]);
    await until(async () => (await containersOf(installation.deployment)).length === 0, LIMIT_MS);
  } finally {
    await installation.remove();
  }
});
