import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import Docker from "dockerode";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { benchRequest, createDockerBench, type DockerBench } from "../../support/docker-bench.js";
import { readTestEnvironment } from "../../support/environment.js";
import { countProcessesWithEnvironment } from "../../support/processes.js";

let bench: DockerBench;
let docker: Docker;
beforeAll(async () => {
  bench = await createDockerBench();
  docker = new Docker({ socketPath: readTestEnvironment().dockerSocket });
});
afterEach(async () => {
  expect(await bench.leftovers()).toEqual([]);
});
afterAll(() => bench.close());

/** An environment that no other test's process has. */
function marked() {
  const mark = `BAILIFF_TEST_MARK=${randomBytes(8).toString("hex")}`;
  const [name = "", value = ""] = mark.split("=");
  return {
    environment: { ...benchRequest([]).environment, [name]: value },
    countProcesses: () => countProcessesWithEnvironment(mark),
  };
}
const memory = { limits: { memoryBytes: 64 << 20 } };

describe("a command's processes", () => {
  it.each<[string, string[], string]>([
    ["a child that is waited for", ["sh", "-c", "sleep 300 & wait"], "timed_out"],
    ["an orphan", ["sh", "-c", "(sleep 300 &) ; exit 0"], "completed"],
    // setsid forks when it leads a group, as here, and its own end is the command's.
    ["a session of its own", ["setsid", "sleep", "300"], "completed"],
    ["a loop that ignores signals", ["sh", "-c", "trap '' TERM INT HUP; while :; do :; done"], "timed_out"],
    [
      "a daemon",
      ["python3", "-c", "import os,time\nif os.fork()==0:\n os.setsid()\n if os.fork()==0: time.sleep(300)"],
      "completed",
    ],
  ])("are gone when the end is known: %s (FB-13)", async (_, argv, outcome) => {
    let left = -1;
    const { environment, countProcesses } = marked();
    const { ending, elapsedMs } = await bench.run(argv, {
      environment,
      timeoutMs: 2_000,
      onEnd: async () => {
        left = await countProcesses();
      },
    });
    expect(ending.outcome).toBe(outcome);
    expect(left).toBe(0);
    expect(elapsedMs).toBeLessThan(60_000);
  });

  it("are ended by the timeout, not by their own end (FB-15)", async () => {
    const { ending, elapsedMs } = await bench.run(["sleep", "600"], { timeoutMs: 2_000 });
    expect(ending).toMatchObject({ outcome: "timed_out", effect: "unknown", returncode: null });
    expect(elapsedMs).toBeGreaterThanOrEqual(1_900);
    expect(elapsedMs).toBeLessThan(60_000);
  });

  it("do nothing more after a timeout (FB-16)", async () => {
    const workspace = await bench.workspace();
    const { ending } = await bench.run(["sh", "-c", "touch early; sleep 3; touch late"], {
      workspace,
      timeoutMs: 1_000,
    });
    expect(ending.outcome).toBe("timed_out");
    await delay(4_000);
    expect(existsSync(join(workspace.path, "early"))).toBe(true);
    expect(existsSync(join(workspace.path, "late"))).toBe(false);
  });

  it("can't multiply beyond their limit, and a neighbour does not notice (FB-18)", async () => {
    const bomb = bench.run(["bash", "-c", ":(){ :|:& };:; wait; sleep 30"], { timeoutMs: 5_000 });
    const neighbour = await bench.run(["echo", "here"]);
    expect(neighbour).toMatchObject({ stdout: "here\n", ending: { outcome: "completed", returncode: 0 } });
    const { end } = await bomb;
    expect(end.kind).toBe("report");
  });
});

describe("the five kinds of 137", () => {
  it("out of memory: the command itself (FB-19)", async () => {
    const { ending } = await bench.run(["python3", "-c", "x=bytearray(10**9)"], memory);
    expect(ending).toMatchObject({ outcome: "out_of_memory", effect: "unknown", returncode: null });
  });

  it("out of memory: a child only, and the command goes on (FB-19)", async () => {
    const { ending, end, stdout } = await bench.run(
      ["sh", "-c", "python3 -c 'x=bytearray(10**9)'; echo after"],
      memory,
    );
    expect(ending).toMatchObject({ outcome: "completed", returncode: 0 });
    expect(stdout).toBe("after\n");
    expect(end.kind === "report" && end.report.oomKills).toBeGreaterThan(0);
  });

  it("its own SIGKILL (FB-19)", async () => {
    const { ending } = await bench.run(["sh", "-c", "kill -9 $$"], memory);
    expect(ending).toMatchObject({ outcome: "completed", returncode: 137, signal: "SIGKILL" });
  });

  it("its own exit status 137 (FB-19)", async () => {
    const { ending } = await bench.run(["sh", "-c", "exit 137"], memory);
    expect(ending).toMatchObject({ outcome: "completed", returncode: 137, signal: null });
  });

  it("the timeout's kill (FB-19)", async () => {
    const { ending } = await bench.run(["sleep", "600"], { ...memory, timeoutMs: 500 });
    expect(ending).toMatchObject({ outcome: "timed_out", returncode: null, signal: null });
  });
});

describe("an end from outside", () => {
  it("by the caller's abort is a report that the command was killed", async () => {
    const { environment, countProcesses } = marked();
    let left = -1;
    const caller = new AbortController();
    const { end, ending } = await bench.run(["sleep", "300"], {
      environment,
      signal: caller.signal,
      onReady: () => void setTimeout(() => caller.abort(), 500),
      onEnd: async () => {
        left = await countProcesses();
      },
    });
    expect(end).toMatchObject({ kind: "report", report: { kind: "terminated" } });
    expect(ending).toMatchObject({ outcome: "cancelled", effect: "unknown" });
    expect(left).toBe(0);
  });

  it("by an abort before the argv was sent runs nothing", async () => {
    const workspace = await bench.workspace();
    const { end } = await bench.run(["touch", "ran"], { workspace, signal: AbortSignal.abort() });
    expect(end).toMatchObject({ kind: "report", report: { kind: "terminated", wallMs: 0 } });
    expect(existsSync(join(workspace.path, "ran"))).toBe(false);
  });

  it("by a kill of the container is lost, never a returncode", async () => {
    const { ending } = await bench.run(["sleep", "600"], {
      onReady: (id) => void setTimeout(() => void docker.getContainer(id).kill({ signal: "SIGKILL" }), 500),
    });
    expect(ending).toMatchObject({ outcome: "lost", effect: "unknown", returncode: null });
    expect(ending.detail).toContain("the attach stream ended without a report");
  });

  it("by a stop of the container is init's report", async () => {
    const { end } = await bench.run(["sleep", "600"], {
      onReady: (id) =>
        void setTimeout(
          () =>
            void docker
              .getContainer(id)
              .stop({ t: 30 })
              .catch(() => {}),
          500,
        ),
    });
    expect(end).toMatchObject({ kind: "report", report: { kind: "terminated" } });
  });

  it("that never comes because the container is frozen is lost after timeout and grace", async () => {
    const { ending } = await bench.run(["sleep", "600"], {
      timeoutMs: 500,
      graceMs: 500,
      onReady: (id) => docker.getContainer(id).pause(),
    });
    expect(ending).toMatchObject({ outcome: "lost", effect: "unknown", returncode: null });
    expect(ending.detail).toContain("no report inside timeout and grace");
  });
});
