import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Redis } from "ioredis";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startPrivateRedisServer } from "../../../src/adapters/redis-server/private-redis-server.js";
import { createCapturedLog } from "../../support/captured-log.js";
import { readTestEnvironment } from "../../support/environment.js";

const program = readTestEnvironment().redisServerPath;
let directory: string;
let owner: ChildProcess | undefined;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'bailiff private "redis" '));
});
afterEach(async () => {
  owner?.kill("SIGKILL");
  await rm(directory, { recursive: true, force: true });
});

const start = (onDeath: (message: string) => void = () => undefined) =>
  startPrivateRedisServer({ directory, program, log: createCapturedLog(), onDeath });

const recordedPid = async (): Promise<number> =>
  JSON.parse(await readFile(join(directory, "bailiff-redis.json"), "utf8")).pid;

async function ask<T>(url: string, use: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(url, { maxRetriesPerRequest: 1 });
  // Refusals are what some of the tests ask for; each reaches the command that met it.
  redis.on("error", () => undefined);
  try {
    return await use(redis);
  } finally {
    redis.disconnect();
  }
}

/** A process of its own that starts the server and then is there until it is killed. */
async function startInOtherProcess(): Promise<string> {
  const script = `
    import { startPrivateRedisServer } from "./src/adapters/redis-server/private-redis-server.ts";
    const log = { debug() {}, info() {}, warn() {}, error() {}, child: () => log };
    const server = await startPrivateRedisServer({ directory: process.argv[1], program: process.argv[2], log, onDeath() {} });
    process.stdout.write(server.url);
    setInterval(() => {}, 1000);
  `;
  owner = spawn(
    process.execPath,
    ["--import", "tsx", "--input-type=module", "--eval", script, directory, program],
    { cwd: fileURLToPath(new URL("../../../", import.meta.url)), stdio: ["ignore", "pipe", "inherit"] },
  );
  const [chunk] = await once(owner.stdout ?? process.stdin, "data");
  return String(chunk);
}

describe("the private redis-server", () => {
  it("keeps what was written over a stop and a start, and lets nobody in without its password", async () => {
    const first = await start();
    await ask(first.url, (redis) => redis.set("kept", "yes"));
    const open = new URL(first.url);
    open.password = "";
    await expect(ask(open.href, (redis) => redis.get("kept"))).rejects.toThrow(/NOAUTH/);
    const pid = await recordedPid();
    const commandLine = await readFile(`/proc/${pid}/cmdline`, "utf8");
    expect(commandLine).not.toContain(new URL(first.url).password);
    await first.stop();
    const second = await start();
    expect(await ask(second.url, (redis) => redis.get("kept"))).toBe("yes");
    expect(await ask(second.url, (redis) => redis.config("GET", "maxmemory-policy"))).toEqual([
      "maxmemory-policy",
      "noeviction",
    ]);
    await second.stop();
  });

  it("tells its death once, and does not when it was stopped", async () => {
    const deaths: string[] = [];
    let tell: () => void = () => undefined;
    const told = new Promise<void>((resolve) => {
      tell = resolve;
    });
    const first = await start((message) => {
      deaths.push(message);
      tell();
    });
    process.kill(await recordedPid(), "SIGKILL");
    await told;
    expect(deaths).toHaveLength(1);
    expect(deaths[0]).toContain("SIGKILL");
    await first.stop();
    const second = await start((message) => deaths.push(message));
    await second.stop();
    expect(deaths).toHaveLength(1);
  });

  it("refuses a directory in use, and takes over the server of an owner that was killed", async () => {
    await startInOtherProcess().then((url) => ask(url, (redis) => redis.set("kept", "yes")));
    const orphan = await recordedPid();
    await expect(start()).rejects.toThrow(/is in use by the Bailiff process/);
    owner?.kill("SIGKILL");
    await once(owner ?? process, "exit");
    const mine = await start();
    expect(await recordedPid()).not.toBe(orphan);
    expect(await ask(mine.url, (redis) => redis.get("kept"))).toBe("yes");
    await mine.stop();
  });

  it("says what is wrong when the program is not there", async () => {
    await expect(
      startPrivateRedisServer({
        directory,
        program: "/no/such/redis-server",
        log: createCapturedLog(),
        onDeath: () => undefined,
      }),
    ).rejects.toThrow(/could not be started/);
  });
});
