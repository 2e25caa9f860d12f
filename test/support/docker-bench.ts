import { randomBytes } from "node:crypto";
import { createDockerRuntime } from "../../src/adapters/docker/docker-runtime.js";
import type { EngineDeadlines } from "../../src/adapters/docker/engine-deadlines.js";
import { type ContainerLimits, DEFAULT_CONTAINER_LIMITS } from "../../src/domain/limits.js";
import { classifyReport, type Ending, lost } from "../../src/domain/outcome.js";
import type {
  ContainerPurpose,
  ContainerRuntime,
  ProcessEnd,
  ProcessRequest,
  RuntimeProfile,
} from "../../src/ports/container-runtime.js";
import { createCapturedLog } from "./captured-log.js";
import { readTestEnvironment } from "./environment.js";
import { leftoverContainers } from "./leftover-containers.js";
import { createWorkspaceMaker, type OwnedWorkspace } from "./owned-workspace.js";

/** One command's end as a test looks at it. */
export interface BenchResult {
  readonly end: ProcessEnd;
  readonly ending: Ending;
  readonly stdout: string;
  readonly stderr: string;
  readonly elapsedMs: number;
}

/** What a test may choose about one command; the rest is harmless. */
export interface BenchCommand extends Partial<Omit<ProcessRequest, "argv">> {
  readonly workspace?: OwnedWorkspace;
  readonly limits?: Partial<ContainerLimits>;
  readonly profile?: Partial<RuntimeProfile>;
  readonly signal?: AbortSignal;
  /** Called when the container is ready and the command not yet sent. */
  readonly onReady?: (containerId: string) => void | Promise<void>;
  /** Called when the end is known and the container not yet destroyed. */
  readonly onEnd?: (containerId: string) => void | Promise<void>;
}

/** A real runtime on the real engine, with a deployment and workspaces of its own. */
export interface DockerBench {
  readonly runtime: ContainerRuntime;
  readonly deploymentId: string;
  readonly workspacesRoot: string;
  readonly warnings: () => readonly string[];
  workspace(uid?: number, gid?: number): Promise<OwnedWorkspace>;
  profile(overrides?: Partial<RuntimeProfile>, limits?: Partial<ContainerLimits>): RuntimeProfile;
  purpose(workspace: OwnedWorkspace, profile?: RuntimeProfile): ContainerPurpose;
  /** Prepare, run, destroy. Without a workspace in the options it gets one of its own. */
  run(argv: readonly string[], options?: BenchCommand): Promise<BenchResult>;
  leftovers(): Promise<string[]>;
  close(): Promise<void>;
}

/** A request with defaults for everything but the argv. */
export function benchRequest(
  argv: readonly string[],
  overrides: Partial<ProcessRequest> = {},
): ProcessRequest {
  return {
    argv,
    cwd: ".",
    environment: {
      PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
      HOME: "/home/agent",
      LANG: "C.UTF-8",
    },
    timeoutMs: 60_000,
    stdoutCaptureBytes: 1 << 20,
    stdoutHardBytes: 8 << 20,
    stderrCaptureBytes: 1 << 20,
    stderrHardBytes: 8 << 20,
    graceMs: 10_000,
    ...overrides,
  };
}

/** Sets a bench up; `close` it in afterAll. */
export async function createDockerBench(
  overrides: {
    readonly socketPath?: string;
    readonly initPath?: string;
    readonly deadlines?: Partial<EngineDeadlines>;
    readonly deploymentId?: string;
  } = {},
): Promise<DockerBench> {
  const environment = readTestEnvironment();
  const deploymentId = overrides.deploymentId ?? `test-${randomBytes(6).toString("hex")}`;
  const workspaces = await createWorkspaceMaker();
  const log = createCapturedLog();
  const runtime = createDockerRuntime({
    socketPath: overrides.socketPath ?? environment.dockerSocket,
    deploymentId,
    workerId: "wrk_test",
    initPath: overrides.initPath ?? environment.initPath,
    clock: { nowMs: () => Date.now() },
    log,
    metrics: { count() {}, observe() {}, gauge() {} },
    // Two cores and many neighbours: a deadline here is for a silent engine, not for a slow one.
    deadlines: {
      createMs: 60_000,
      startMs: 60_000,
      readyMs: 60_000,
      removeMs: 60_000,
      ...overrides.deadlines,
    },
  });

  const bench: DockerBench = {
    runtime,
    deploymentId,
    workspacesRoot: workspaces.root,
    warnings: () => log.lines.filter(({ level }) => level === "warn").map(({ message }) => message),
    workspace: (uid, gid) => workspaces.make(uid, gid),
    profile: (profile = {}, limits = {}) => ({
      name: "default",
      image: environment.sandboxImageId,
      imageDigest: environment.sandboxImageId,
      network: "none",
      ociRuntime: null,
      limits: { ...DEFAULT_CONTAINER_LIMITS, ...limits },
      ...profile,
    }),
    purpose: (workspace, profile = bench.profile()) => ({
      tenant: "tenant-a",
      workspaceId: "workspace-a",
      workspacePath: workspace.path,
      workspaceIdentity: workspace.path,
      uid: workspace.uid,
      gid: workspace.gid,
      profile,
      commandId: "cmd_test",
      deadlineMs: Date.now() + 600_000,
    }),
    async run(argv, options = {}) {
      const { workspace, limits, profile, signal, onReady, onEnd, ...request } = options;
      const where = workspace ?? (await workspaces.make());
      // One of its own for each command: a shared signal would gather a listener per command in flight.
      const unaborted = new AbortController().signal;
      const container = await runtime.prepare(
        bench.purpose(where, bench.profile(profile, limits)),
        unaborted,
      );
      try {
        await onReady?.(container.containerId);
        const began = performance.now();
        const end = await container.run(benchRequest(argv, request), signal ?? unaborted);
        const elapsedMs = performance.now() - began;
        await onEnd?.(container.containerId);
        return {
          end,
          ending: end.kind === "report" ? classifyReport(end.report) : lost(end.detail),
          stdout: Buffer.from(end.stdout.bytes).toString("utf8"),
          stderr: Buffer.from(end.stderr.bytes).toString("utf8"),
          elapsedMs,
        };
      } finally {
        await container.destroy();
      }
    },
    leftovers: () => leftoverContainers(environment.dockerSocket, deploymentId),
    async close() {
      await runtime.close();
      await workspaces.removeAll();
    },
  };
  return bench;
}

/** Runs `work` for 0 … count-1, at most `width` at a time. */
export async function atWidth<T>(
  count: number,
  width: number,
  work: (index: number) => Promise<T>,
): Promise<T[]> {
  const results: T[] = [];
  let next = 0;
  await Promise.all(
    Array.from({ length: width }, async () => {
      while (next < count) {
        const index = next;
        next += 1;
        results[index] = await work(index);
      }
    }),
  );
  return results;
}
