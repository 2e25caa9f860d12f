import { chown, copyFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { measureWorkspace } from "../../../src/adapters/workspace-fs/measure-workspace.js";
import { createWorkspaceWatch } from "../../../src/app/execute/workspace-watch.js";
import { createDockerBench } from "../../support/docker-bench.js";
import { ESCAPE_MATRIX, type EscapeVerdict, escapeTable } from "../../support/escape/escape-matrix.js";
import { startSecondEngine } from "../../support/second-engine.js";
import { silentLog, silentMetrics } from "../../support/silent-telemetry.js";

const ATTEMPTS = fileURLToPath(new URL("../../support/escape/attempts.py", import.meta.url));
const PACKAGES = new URL("../../../scripts/setup/packages.mjs", import.meta.url).href;
const RUNSC = {
  path: "/usr/bin/runsc",
  runtimeArgs: ["--platform=ptrace", "--network=none", "--ignore-cgroups"],
};
const MIB = 1 << 20;
/** Every attempt stays small, for a runtime without limits bounds none of them. */
const LIMITS = { pids: 40, tmpBytes: 16 * MIB, shmBytes: 16 * MIB, homeBytes: 16 * MIB };

type Shown = Readonly<Record<string, EscapeVerdict>>;
const shown: { runc?: Shown; runsc?: Shown | string } = {};

afterAll(() => {
  const { runc = {}, runsc = {} } = shown;
  const rows = ESCAPE_MATRIX.map(({ attempt }) => ({
    attempt,
    runc: runc[attempt] ?? "not run",
    runsc: typeof runsc === "string" ? `not run: ${runsc}` : (runsc[attempt] ?? "not run"),
  }));
  process.stdout.write(`\nWhat attempts to get out came to:\n\n${escapeTable(rows)}\n\n`);
});

/** Makes every attempt through Bailiff's own runtime; what came of each. */
async function tryEverything(ociRuntime: string | null, socketPath?: string): Promise<Shown> {
  const bench = await createDockerBench(socketPath === undefined ? {} : { socketPath });
  const profile = { ociRuntime, acceptsUnenforcedLimits: ociRuntime !== null };
  try {
    const workspace = await bench.workspace();
    await copyFile(ATTEMPTS, join(workspace.path, "attempts.py"));
    await chown(join(workspace.path, "attempts.py"), workspace.uid, workspace.gid);
    const options = { profile, workspace, timeoutMs: 100_000 };
    const tried = await bench.run(["python3", "attempts.py"], { ...options, limits: LIMITS });
    expect(tried.ending).toMatchObject({ outcome: "completed", returncode: 0 });
    const verdicts = tried.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as [string, string])
      .map(([attempt, answer]) => [attempt, answer === "succeeded" ? "not held" : "held"] as const);

    const hoard = "b = bytearray(160 << 20); print(len(b))";
    const memory = await bench.run(["python3", "-c", hoard], {
      ...options,
      limits: { memoryBytes: 64 * MIB },
    });
    expect(memory.ending.outcome).toBe(ociRuntime === null ? "out_of_memory" : "completed");

    const ender = new AbortController();
    const watch = createWorkspaceWatch({
      measure: measureWorkspace,
      limits: { bytes: 8 * MIB, inodes: 1_000 },
      later: (delayMs, work) => void setTimeout(work, delayMs).unref(),
      clock: { nowMs: () => Date.now() },
      log: silentLog,
      metrics: silentMetrics,
    });
    const endWatch = watch.watch(workspace.path, (excess) => ender.abort(excess));
    const fill = "dd if=/dev/zero of=full bs=1M count=32 2>/dev/null; sleep 90";
    const disk = await bench.run(["sh", "-c", fill], { ...options, signal: ender.signal });
    endWatch();
    return {
      ...Object.fromEntries(verdicts),
      "take more memory than its limit": memory.ending.outcome === "out_of_memory" ? "held" : "not held",
      "fill the workspace": disk.ending.outcome === "cancelled" ? "held" : "not held",
    };
  } finally {
    await bench.close();
    expect(await bench.leftovers()).toEqual([]);
  }
}

const expected = (runtime: "runc" | "runsc"): Shown =>
  Object.fromEntries(ESCAPE_MATRIX.map((row) => [row.attempt, row[runtime]]));

/** Why gVisor can't be had on this machine; null where it can. */
async function whyNoRunsc(): Promise<string | null> {
  const { installPackages } = await import(PACKAGES);
  const progress = { step: (_: string, __: string, work: () => unknown) => work() };
  try {
    await installPackages(progress, { runsc: "runsc" }, "to try gVisor");
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

describe("attempts to get out of a container (FB-55, FB-58)", () => {
  test("come to what docs/isolation.md says on the engine's default runtime", async () => {
    shown.runc = await tryEverything(null);
    expect(shown.runc).toEqual(expected("runc"));
  });

  test("come to what docs/isolation.md says on gVisor, which must say itself that it enforces no limit", async () => {
    const reason = await whyNoRunsc();
    if (reason !== null) {
      shown.runsc = reason;
      expect(reason).toMatch(/^(Missing: runsc|apt-get could not install runsc)/);
      return;
    }
    const engine = await startSecondEngine({ liveRestore: false, runtimes: { runsc: RUNSC } });
    try {
      const bench = await createDockerBench({ socketPath: engine.socketPath });
      const named = (acceptsUnenforcedLimits: boolean) =>
        bench.profile({ ociRuntime: "runsc", acceptsUnenforcedLimits });
      const lacking = expect.stringContaining("does not enforce its limits on memory, processes, CPU time");
      expect(await bench.runtime.probe([named(false)], bench.workspacesRoot)).toMatchObject({
        problems: [lacking],
        warnings: [],
      });
      expect(await bench.runtime.probe([named(true)], bench.workspacesRoot)).toMatchObject({
        problems: [],
        warnings: [lacking],
      });
      await bench.close();
      shown.runsc = await tryEverything("runsc", engine.socketPath);
      expect(shown.runsc).toEqual(expected("runsc"));
    } finally {
      await engine.stop();
    }
  });
});
