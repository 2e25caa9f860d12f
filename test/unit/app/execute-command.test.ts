import { describe, expect, test } from "vitest";
import { untraced } from "../../../src/adapters/telemetry/untraced.js";
import { createActiveCommands } from "../../../src/app/execute/active-commands.js";
import type { ContainerLease, Recheck } from "../../../src/app/execute/execute-command.js";
import { createExecuteCommand } from "../../../src/app/execute/execute-command.js";
import { createHeldCommands } from "../../../src/app/execute/held-commands.js";
import type { WorkspaceWatch } from "../../../src/app/execute/workspace-watch.js";
import type { CommandRecord, CommandResult } from "../../../src/domain/command.js";
import { DEFAULT_SERVICE_LIMITS } from "../../../src/domain/limits.js";
import type { InitReport } from "../../../src/domain/outcome.js";
import type { ClaimAnswer, CommandStore } from "../../../src/ports/command-store.js";
import { StoreUnavailable } from "../../../src/ports/command-store.js";
import type { ProcessEnd, ReadyContainer } from "../../../src/ports/container-runtime.js";
import { RuntimeFault } from "../../../src/ports/container-runtime.js";
import type { Log, Metrics, Tracer } from "../../../src/ports/telemetry.js";
import { createCapturedTracer } from "../../support/captured-tracer.js";
import { aPurpose } from "../../support/container-purpose.js";
import { anInitReport } from "../../support/init-report.js";

const log: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {}, child: () => log };
const metrics: Metrics = { count: () => {}, observe: () => {}, gauge: () => {} };

const record = {
  id: "cmd_1",
  tenant: "t",
  workspaceId: "w",
  state: "queued",
  queuedAtMs: 0,
  request: {
    argv: ["true"],
    cwd: ".",
    timeoutMs: 1_000,
    maxStdoutChars: 100,
    maxStderrChars: 100,
    sourceObjects: [],
    reason: null,
  },
  decision: { gitHardened: false },
} as unknown as CommandRecord;

const purpose = aPurpose({ commandId: "cmd_1" });
const empty = { bytes: new Uint8Array(), seenBytes: 0, sha256: "" };
const exited: ProcessEnd = {
  kind: "report",
  stdout: empty,
  stderr: empty,
  report: anInitReport(),
};

/** A worker whose parts do what the test says, and the trace of what it did. */
function worker(
  parts: {
    recheck?: Recheck;
    claim?: (fence: string) => Promise<ClaimAnswer>;
    giveBack?: () => Promise<boolean>;
    finish?: () => Promise<boolean>;
    acquire?: () => Promise<void>;
    offer?: () => Promise<boolean>;
    run?: (signal: AbortSignal) => Promise<ProcessEnd>;
    watch?: WorkspaceWatch["watch"];
    now?: () => number;
    destroy?: () => Promise<void>;
    draining?: AbortSignal;
    tracer?: Tracer;
    record?: Partial<CommandRecord>;
  } = {},
) {
  const trace: string[] = [];
  const results: CommandResult[] = [];
  const now = parts.now ?? (() => 0);
  const container: ReadyContainer = {
    containerId: "c1",
    purpose,
    createdAtMs: 0,
    isHealthy: () => true,
    answers: async () => true,
    run: async (_, signal) => {
      trace.push("argv sent");
      return (await parts.run?.(signal)) ?? exited;
    },
    destroy: async () => {
      trace.push("destroy");
      await parts.destroy?.();
    },
  };
  const commands = {
    get: async () => ({ ...record, ...parts.record }),
    claim: async ({ fence }: { fence: string }) => {
      trace.push("claim");
      return (await parts.claim?.(fence)) ?? { kind: "claimed", fence, record };
    },
    giveBack: async () => {
      trace.push("give back");
      return (await parts.giveBack?.()) ?? true;
    },
    finish: async (_id: string, _fence: string, result: CommandResult) => {
      trace.push(`finish ${result.outcome}`);
      results.push(result);
      return (await parts.finish?.()) ?? true;
    },
    endUnstarted: async (_id: string, result: CommandResult) => {
      trace.push(`end unstarted ${result.outcome}`);
      results.push(result);
      return true;
    },
  } as unknown as CommandStore;
  const containers: ContainerLease = {
    async acquire() {
      trace.push("container");
      await parts.acquire?.();
      return container;
    },
    dispose: () => {
      if (trace.at(-1) !== "dispose") trace.push("dispose");
    },
  };
  const clock = { nowMs: now };
  const execute = createExecuteCommand({
    commands,
    recheck: async () =>
      parts.recheck ?? { kind: "proceed", plan: { seen: null, purpose, argv: ["true"], environment: {} } },
    containers,
    offer: parts.offer ?? (async () => false),
    active: createActiveCommands(),
    workspaces: { watch: parts.watch ?? (() => () => {}) },
    held: createHeldCommands({ commands, log, metrics, pause: async () => {}, givesUp: () => false }),
    limits: DEFAULT_SERVICE_LIMITS,
    workerId: "wrk_1",
    clock,
    ids: { next: (kind) => `${kind}_x` },
    log,
    metrics,
    tracer: parts.tracer ?? untraced,
    claimToSendMs: 3_000,
    pause: async () => {},
    draining: parts.draining ?? new AbortController().signal,
    givesUp: () => false,
  });
  return { execute: () => execute("cmd_1"), trace, results };
}

describe("a workspace that is outgrown", () => {
  const ended = { ...exited, report: anInitReport({ kind: "terminated", exitCode: null }) };

  test("ends the command that runs in it as one with too much output", async () => {
    const watched: string[] = [];
    const { execute, results } = worker({
      watch: (path, onExcess) => {
        watched.push(path);
        onExcess("workspace_bytes");
        return () => watched.push("over");
      },
      run: async (signal) => {
        expect(signal.reason).toBe("workspace_bytes");
        return ended;
      },
    });
    expect(await execute()).toBe("done");
    expect(watched).toEqual([purpose.workspacePath, "over"]);
    expect(results).toMatchObject([
      { outcome: "output_limit_exceeded", effect: "unknown", returncode: null, detail: "workspace_bytes" },
    ]);
  });

  test("changes nothing for a command that had ended by itself", async () => {
    const { execute, results } = worker({
      watch: (_, onExcess) => {
        onExcess("workspace_inodes");
        return () => {};
      },
    });
    await execute();
    expect(results).toMatchObject([{ outcome: "completed", effect: "completed" }]);
  });
});

describe("the trace of a command", () => {
  const submit = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

  test("has a span for each step, below the execution, which is below the submit that its record names", async () => {
    const { tracer, spans } = createCapturedTracer();
    const { execute } = worker({ tracer, record: { traceparent: submit } });
    await execute();
    const execution = spans.find(({ name }) => name === "execute");
    expect(execution?.parent).toBe(submit);
    expect(
      spans.map(({ name, parent }) => [name, parent === execution?.traceparent ? "execute" : parent]),
    ).toEqual([
      ["queue wait", submit],
      ["execute", submit],
      ["recheck", "execute"],
      ["container acquire", "execute"],
      ["claim", "execute"],
      ["run", "execute"],
      ["persist", "execute"],
    ]);
    expect(spans.every(({ isEnded }) => isEnded)).toBe(true);
    expect(execution?.attributes).toMatchObject({ "bailiff.outcome": "completed", "container.id": "c1" });
  });

  test("ends every span when a step fails, and says the kind of the failure and none of its words", async () => {
    const { tracer, spans } = createCapturedTracer();
    const { execute } = worker({
      tracer,
      acquire: async () => {
        throw new RuntimeFault("deadline", "create", "create: hunter2");
      },
    });
    expect(await execute()).toBe("give_back");
    expect(spans.map(({ name, failure, isEnded }) => [name, failure, isEnded])).toEqual([
      ["execute", null, true],
      ["recheck", null, true],
      ["container acquire", "deadline", true],
    ]);
    expect(JSON.stringify(spans)).not.toContain("hunter2");
  });
});

describe("the way through a worker", () => {
  test("the container is ready before the claim, and argv is sent only behind it", async () => {
    const { execute, trace } = worker();
    expect(await execute()).toBe("done");
    expect(trace).toEqual(["container", "claim", "argv sent", "finish completed", "dispose"]);
  });

  test("a claim that is refused sends nothing", async () => {
    for (const answer of [{ kind: "not_queued", state: "finished" }, { kind: "no_lease" }] as ClaimAnswer[]) {
      const { execute, trace } = worker({ claim: async () => answer });
      expect(await execute()).toBe(answer.kind === "no_lease" ? "give_back" : "done");
      expect(trace).toEqual(["container", "claim", "dispose"]);
    }
  });

  test("a claim whose answer is lost is voided before the entry is given back, however often that takes", async () => {
    let tries = 0;
    const { execute, trace } = worker({
      claim: async () => {
        throw new StoreUnavailable("gone");
      },
      giveBack: async () => {
        tries += 1;
        if (tries < 3) throw new StoreUnavailable("gone");
        return false;
      },
    });
    expect(await execute()).toBe("give_back");
    expect(trace).toEqual(["container", "claim", "give back", "give back", "give back", "dispose"]);
  });

  test("a worker that stood still between claim and send does not send", async () => {
    const times = [0, 0, 0, 0, 60_000];
    const { execute, trace } = worker({ now: () => times.shift() ?? 60_000 });
    expect(await execute()).toBe("give_back");
    expect(trace).not.toContain("argv sent");
    expect(trace).toContain("give back");
  });

  test("a denial at dispatch ends the command unstarted and makes no container", async () => {
    const { execute, trace, results } = worker({
      recheck: { kind: "refuse", detail: "at dispatch: no" },
    });
    expect(await execute()).toBe("done");
    expect(trace).toEqual(["end unstarted denied"]);
    expect(results[0]).toMatchObject({ effect: "none", detail: "at dispatch: no" });
  });
});

describe("when parts fail", () => {
  test("an engine that fails gives the entry back, then ends it as start_failed with effect none (FB-22)", async () => {
    const { execute, trace, results } = worker({
      acquire: async () => {
        throw new RuntimeFault("deadline", "create", "create: no answer");
      },
    });
    expect([await execute(), await execute(), await execute()]).toEqual(["give_back", "give_back", "done"]);
    expect(trace).not.toContain("claim");
    expect(results).toMatchObject([{ outcome: "start_failed", effect: "none" }]);
  });

  test("an image that is not there is not tried again (FB-30)", async () => {
    const { execute, results } = worker({
      acquire: async () => {
        throw new RuntimeFault("image_missing", "create", "create: no such image");
      },
    });
    expect(await execute()).toBe("done");
    expect(results).toMatchObject([{ outcome: "start_failed", startFailure: { errno: "IMAGE_MISSING" } }]);
  });

  test("a failure inside the worker behind the claim is lost, never nothing", async () => {
    const { execute, results } = worker({
      run: async () => {
        throw new Error("a bug");
      },
    });
    expect(await execute()).toBe("done");
    expect(results).toMatchObject([{ outcome: "lost", effect: "unknown" }]);
  });

  test("a known end is told again until the store is back", async () => {
    let tries = 0;
    const { execute, results } = worker({
      finish: async () => {
        tries += 1;
        if (tries < 4) throw new StoreUnavailable("gone");
        return true;
      },
    });
    expect(await execute()).toBe("done");
    expect(results.map((result) => result.outcome)).toEqual(Array(4).fill("completed"));
  });

  test("a result that the store keeps refusing becomes lost instead of nothing", async () => {
    let tries = 0;
    const { execute, results } = worker({
      finish: async () => {
        tries += 1;
        if (tries < 4) throw new TypeError("not serialisable");
        return true;
      },
    });
    await execute();
    expect(results.map((result) => result.outcome)).toEqual(["completed", "completed", "completed", "lost"]);
  });

  test("a claim that fails for any reason is voided, so that no command is left to a worker that does not run it", async () => {
    const { execute, trace } = worker({
      claim: async () => {
        throw new TypeError("a record that can't be read");
      },
    });
    await expect(execute()).rejects.toThrow("can't be read");
    expect(trace).toEqual(["container", "claim", "give back", "dispose"]);
  });
});

describe("an end that nothing proves", () => {
  const unproven: ProcessEnd = { kind: "lost", detail: "no report", stdout: empty, stderr: empty };

  test("is no verdict before the container is gone (FB-47)", async () => {
    let tries = 0;
    const { execute, trace } = worker({
      run: async () => unproven,
      destroy: async () => {
        tries += 1;
        if (tries < 3) throw new RuntimeFault("unreachable", "remove", "remove: no engine");
      },
    });
    expect(await execute()).toBe("done");
    expect(trace.slice(2)).toEqual(["argv sent", "destroy", "destroy", "destroy", "finish lost", "dispose"]);
  });

  test("becomes one once the command's own time is over, though the engine confirms nothing (FB-22)", async () => {
    let nowMs = 0;
    const { execute, results } = worker({
      now: () => nowMs,
      run: async () => unproven,
      destroy: async () => {
        nowMs += 4_000;
        throw new RuntimeFault("deadline", "remove", "remove: no answer");
      },
    });
    expect(await execute()).toBe("done");
    expect(nowMs).toBe(8_000);
    expect(results).toMatchObject([{ outcome: "lost", effect: "unknown" }]);
  });

  test("is what a container told to end by somebody else reports: nobody cancelled", async () => {
    const terminated: ProcessEnd = {
      ...exited,
      report: { ...(exited as { report: InitReport }).report, kind: "terminated" },
    } as ProcessEnd;
    const { execute, results } = worker({ run: async () => terminated });
    await execute();
    expect(results).toMatchObject([{ outcome: "lost", effect: "unknown" }]);
  });
});

describe("a worker that drains", () => {
  test("gives back what waits for a container, and blames no engine", async () => {
    const draining = new AbortController();
    const { execute, trace } = worker({
      draining: draining.signal,
      acquire: async () => {
        draining.abort();
        throw new RuntimeFault("not_ready", "create", "create: given up by the caller");
      },
    });
    for (let time = 0; time < 4; time += 1) expect(await execute()).toBe("give_back");
    expect(trace).toEqual(["container"]);
  });
});
