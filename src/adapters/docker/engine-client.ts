import { Agent } from "node:http";
import type { Duplex } from "node:stream";
import { inspect } from "node:util";
import Docker from "dockerode";
import type { Metrics } from "../../ports/telemetry.js";
import { type BoundedCall, callWithDeadline } from "./call-with-deadline.js";
import type { EngineDeadlines } from "./engine-deadlines.js";
import { engineDial } from "./engine-dial.js";
import { type EngineOperation, engineFault, engineStatus } from "./engine-faults.js";
import type { ContainerSpec, ImageDeclarations } from "./host-config.js";
import { negotiateApiVersion } from "./negotiate-api-version.js";

/** What the kernel holds a running container's processes to; null where nothing does. */
export interface KernelBounds {
  readonly memoryBytes: number | null;
  readonly pids: number | null;
}

/** Connections for short calls at one time; attach streams leave the agent and do not count. */
const MAX_SOCKETS = 64;

/** How the engine sees one container; a container that is gone is null. */
export interface ContainerState {
  readonly status: string;
  readonly running: boolean;
  readonly oomKilled: boolean;
  readonly exitCode: number;
}

/** One line of the engine's list. */
export interface ContainerSummary {
  readonly id: string;
  readonly state: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly createdAtMs: number;
}

/** What /info says of what the engine can enforce. */
export interface EngineAbilities {
  /** Stable for one engine. */
  readonly engineId: string;
  readonly memoryLimit: boolean;
  readonly swapLimit: boolean;
  readonly pidsLimit: boolean;
  readonly cpuQuota: boolean;
  readonly cgroupDriver: string;
  readonly cgroupVersion: string;
  readonly securityOptions: readonly string[];
  readonly runtimes: readonly string[];
}

/** An image as the engine holds it. */
export interface ImageFacts extends ImageDeclarations {
  readonly id: string;
  /** `name@sha256:…` */
  readonly repoDigests: readonly string[];
}

/** The few Engine API calls that Bailiff makes. Each ends by its deadline and rejects with RuntimeFault only. */
export interface EngineClient {
  apiVersion(): Promise<string>;
  engineVersion(): Promise<string>;
  abilities(): Promise<EngineAbilities>;
  /** Null when the image is not there. */
  image(reference: string, signal: AbortSignal | null): Promise<ImageFacts | null>;
  networkExists(name: string): Promise<boolean>;
  /**
   * The id. After a fault other than a plain refusal the container may exist all the same, by its name. Nobody can give it
   * up: the engine finishes it even so, and until then knows no such name.
   */
  create(name: string, spec: ContainerSpec): Promise<string>;
  /** The hijacked connection: writes reach stdin exactly, reads are the multiplexed output. */
  attach(container: string, signal: AbortSignal): Promise<Duplex>;
  start(container: string, signal: AbortSignal): Promise<void>;
  inspect(container: string): Promise<ContainerState | null>;
  /** Read from the cgroup that a running container is in, whatever was asked for. */
  bounds(container: string): Promise<KernelBounds>;
  /** A container that does not run, or is gone, counts as killed. */
  kill(container: string): Promise<void>;
  /** Kill and remove with its anonymous volumes. Resolves `busy` when another removal is under way. */
  remove(container: string): Promise<"removed" | "gone" | "busy">;
  list(label: string): Promise<readonly ContainerSummary[]>;
  close(): void;
}

/** What the client works with. */
export interface EngineClientDeps {
  readonly socketPath: string;
  readonly deadlines: EngineDeadlines;
  readonly metrics: Metrics;
}

interface Connected {
  readonly docker: Docker;
  readonly apiVersion: string;
}

/** docker-modem renders its whole request for a debug log that is off; an agent in full, with every socket, takes milliseconds of each call. */
class BriefAgent extends Agent {
  [inspect.custom](): string {
    return "Agent";
  }
}

/** A connection that broke before the engine can have acted on a call that is safe to repeat. */
function brokeIdle(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "ECONNRESET" || error.code === "EPIPE");
}

/** Client on a Unix socket. It connects at the first call, and negotiates again after the engine was unreachable. */
export function createEngineClient({ socketPath, deadlines, metrics }: EngineClientDeps): EngineClient {
  const agent = new BriefAgent({ keepAlive: true, maxSockets: MAX_SOCKETS, maxFreeSockets: 8 });
  let connecting: Promise<Connected> | null = null;

  const construct = (version: string | undefined): Docker => {
    // dockerode lets DOCKER_HOST and DOCKER_CLIENT_TIMEOUT of the process override what is not given here.
    const options = {
      socketPath,
      host: undefined,
      port: undefined,
      timeout: undefined,
      protocol: "http",
      agent,
      version,
    };
    return new Docker(options as Docker.DockerOptions);
  };

  const connect = (): Promise<Connected> => {
    connecting ??= callWithDeadline({
      operation: "ping",
      deadlineMs: deadlines.pingMs,
      signal: null,
      call: async (signal) => {
        const apiVersion = await negotiateApiVersion(construct(undefined), signal);
        return { docker: construct(`v${apiVersion}`), apiVersion };
      },
    }).catch((error: unknown) => {
      connecting = null;
      throw error;
    });
    return connecting;
  };

  const measured = async <T>(bounded: BoundedCall<T>): Promise<T> => {
    const began = performance.now();
    let result = "ok";
    try {
      return await callWithDeadline(bounded);
    } catch (error) {
      const fault = engineFault(bounded.operation, error);
      result = fault.code;
      if (fault.code === "unreachable") connecting = null;
      throw fault;
    } finally {
      metrics.observe("bailiff_engine_call_seconds", (performance.now() - began) / 1000, {
        operation: bounded.operation,
        result,
      });
    }
  };

  const ask = async <T>(
    operation: EngineOperation,
    deadlineMs: number,
    signal: AbortSignal | null,
    call: (docker: Docker, abortSignal: AbortSignal) => Promise<T>,
    more: { readonly repeatable?: boolean; readonly dispose?: (late: T) => void } = {},
  ): Promise<T> => {
    const { docker } = await connect();
    return measured({
      operation,
      deadlineMs,
      signal,
      call: async (abortSignal) => {
        try {
          return await call(docker, abortSignal);
        } catch (error) {
          // A kept-alive connection that the engine had closed. Create and start are never sent twice.
          if (more.repeatable !== true || abortSignal.aborted || !brokeIdle(error)) throw error;
          return await call(docker, abortSignal);
        }
      },
      ...(more.dispose === undefined ? {} : { dispose: more.dispose }),
    });
  };

  const repeatable = { repeatable: true };
  const get = <T>(docker: Docker, path: string, abortSignal: AbortSignal): Promise<T> =>
    engineDial<T>(docker, { path, method: "GET", statusCodes: { 200: true }, abortSignal });
  /** The status itself for those listed, which the caller counts as an answer. */
  const unless = async <T>(statuses: readonly number[], call: Promise<T>): Promise<T | number> => {
    try {
      return await call;
    } catch (error) {
      const status = engineStatus(error);
      if (status !== null && statuses.includes(status)) return status;
      throw error;
    }
  };

  return {
    async apiVersion() {
      return (await connect()).apiVersion;
    },
    engineVersion() {
      return ask(
        "version",
        deadlines.infoMs,
        null,
        async (docker, abortSignal) =>
          (await get<Docker.DockerVersion>(docker, "/version", abortSignal)).Version,
        repeatable,
      );
    },
    abilities() {
      return ask(
        "info",
        deadlines.infoMs,
        null,
        async (docker, abortSignal) => {
          const info = await get<Record<string, unknown>>(docker, "/info", abortSignal);
          const strings = (value: unknown) =>
            Array.isArray(value) ? value.filter((item): item is string => typeof item === "string") : [];
          const runtimes = info["Runtimes"];
          return {
            engineId: String(info["ID"] ?? ""),
            memoryLimit: info["MemoryLimit"] === true,
            swapLimit: info["SwapLimit"] === true,
            pidsLimit: info["PidsLimit"] === true,
            cpuQuota: info["CpuCfsQuota"] === true,
            cgroupDriver: String(info["CgroupDriver"] ?? "none"),
            cgroupVersion: String(info["CgroupVersion"] ?? "1"),
            securityOptions: strings(info["SecurityOptions"]),
            runtimes: typeof runtimes === "object" && runtimes !== null ? Object.keys(runtimes) : [],
          };
        },
        repeatable,
      );
    },
    image(reference, signal) {
      return ask(
        "image_inspect",
        deadlines.inspectMs,
        signal,
        async (docker, abortSignal) => {
          const asked = get<Docker.ImageInspectInfo>(docker, `/images/${reference}/json`, abortSignal);
          const found = await unless([404], asked);
          if (typeof found === "number") return null;
          return {
            id: found.Id,
            repoDigests: found.RepoDigests ?? [],
            volumes: Object.keys(found.Config?.Volumes ?? {}),
            environmentNames: (found.Config?.Env ?? []).map((entry) => entry.split("=", 1)[0] ?? entry),
          };
        },
        repeatable,
      );
    },
    networkExists(name) {
      return ask(
        "network_inspect",
        deadlines.inspectMs,
        null,
        async (docker, abortSignal) => {
          const asked = get<unknown>(docker, `/networks/${encodeURIComponent(name)}`, abortSignal);
          return (await unless([404], asked)) !== 404;
        },
        repeatable,
      );
    },
    create(name, spec) {
      return ask("create", deadlines.createMs, null, async (docker, abortSignal) => {
        // Without _query dockerode would repeat the whole body in the URL.
        const options = { _query: { name }, _body: spec, abortSignal };
        return (await docker.createContainer(options)).id;
      });
    },
    attach(container, signal) {
      return ask(
        "attach",
        deadlines.attachMs,
        signal,
        (docker, abortSignal) =>
          engineDial<Duplex>(docker, {
            path: `/containers/${encodeURIComponent(container)}/attach?`,
            method: "POST",
            headers: { "Content-Type": "text/plain" },
            // Container#attach sends its options as a body, or the end of a chunked one, and either can end up in
            // the container's stdin. An empty Buffer gives a request with Content-Length 0 and nothing after it.
            file: Buffer.alloc(0),
            isStream: true,
            hijack: true,
            options: { stream: 1, stdin: 1, stdout: 1, stderr: 1 },
            // Only an upgrade is a success; 200 would be a connection that can't carry stdin.
            statusCodes: {},
            abortSignal,
          }),
        { dispose: (late) => void late.on("error", () => {}).destroy() },
      );
    },
    start(container, signal) {
      return ask("start", deadlines.startMs, signal, async (docker, abortSignal) => {
        await docker.getContainer(container).start({ abortSignal });
      });
    },
    inspect(container) {
      return ask(
        "inspect",
        deadlines.inspectMs,
        null,
        async (docker, abortSignal) => {
          const found = await unless([404], docker.getContainer(container).inspect({ abortSignal }));
          if (typeof found === "number") return null;
          const { State: state } = found;
          return {
            status: state.Status,
            running: state.Running,
            oomKilled: state.OOMKilled,
            exitCode: state.ExitCode,
          };
        },
        repeatable,
      );
    },
    bounds(container) {
      return ask(
        "stats",
        deadlines.inspectMs,
        null,
        async (docker, abortSignal) => {
          const path = `/containers/${encodeURIComponent(container)}/stats?stream=false&one-shot=true`;
          const stats = await get<Record<string, { readonly limit?: unknown } | undefined>>(
            docker,
            path,
            abortSignal,
          );
          const bound = (limit: unknown) => (typeof limit === "number" && limit > 0 ? limit : null);
          return {
            memoryBytes: bound(stats["memory_stats"]?.limit),
            pids: bound(stats["pids_stats"]?.limit),
          };
        },
        repeatable,
      );
    },
    async kill(container) {
      await ask(
        "kill",
        deadlines.killMs,
        null,
        async (docker, abortSignal) => {
          await unless([404, 409], docker.getContainer(container).kill({ signal: "SIGKILL", abortSignal }));
        },
        repeatable,
      );
    },
    remove(container) {
      return ask(
        "remove",
        deadlines.removeMs,
        null,
        async (docker, abortSignal): Promise<"removed" | "gone" | "busy"> => {
          const answer = await unless(
            [404, 409],
            docker.getContainer(container).remove({ force: true, v: true, abortSignal }),
          );
          return answer === 404 ? "gone" : answer === 409 ? "busy" : "removed";
        },
        repeatable,
      );
    },
    list(label) {
      return ask(
        "list",
        deadlines.listMs,
        null,
        async (docker, abortSignal) => {
          const found = await docker.listContainers({ all: true, filters: { label: [label] }, abortSignal });
          return found.map((container) => ({
            id: container.Id,
            state: container.State,
            labels: container.Labels ?? {},
            createdAtMs: container.Created * 1000,
          }));
        },
        repeatable,
      );
    },
    close() {
      agent.destroy();
    },
  };
}
