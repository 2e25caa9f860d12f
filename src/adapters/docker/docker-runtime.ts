import { randomBytes } from "node:crypto";
import type { Clock } from "../../ports/clock.js";
import {
  type ContainerListing,
  type ContainerPurpose,
  type ContainerRuntime,
  type ReadyContainer,
  RuntimeFault,
} from "../../ports/container-runtime.js";
import type { Log, Metrics } from "../../ports/telemetry.js";
import { callWithDeadline } from "./call-with-deadline.js";
import { LABEL } from "./container-labels.js";
import { createEnforcedLimits } from "./enforced-limits.js";
import { createEngineClient } from "./engine-client.js";
import { boundedDeadlines, DEFAULT_ENGINE_DEADLINES, type EngineDeadlines } from "./engine-deadlines.js";
import { engineFault } from "./engine-faults.js";
import { buildContainerSpec, type ImageDeclarations, unusableVolumes } from "./host-config.js";
import { createInitChannel, type InitChannel } from "./init-channel.js";
import { probeEngine } from "./probe.js";
import { createReadyContainer } from "./ready-container.js";
import { removeContainer } from "./remove-container.js";

/** What the runtime works with. */
export interface DockerRuntimeDeps {
  /** The engine's Unix socket. */
  readonly socketPath: string;
  /** Containers of one deployment carry it; a sweeper only ever sees its own. Letters, digits, `_`, `.` and `-`. */
  readonly deploymentId: string;
  readonly workerId: string;
  /** bailiff-init as the engine's host sees it. */
  readonly initPath: string;
  /** Owner of the directory that the probe makes when this process is root; never 0. */
  readonly probeUid?: number;
  readonly probeGid?: number;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly deadlines?: Partial<EngineDeadlines>;
  /** Upper bound on every deadline. */
  readonly callLimitMs?: number;
}

function listedState(state: string): ContainerListing["state"] {
  switch (state) {
    case "created":
    case "running":
    case "exited":
    case "dead":
      return state;
    default:
      return "other";
  }
}

function labelledTime(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

/** The container runtime on a Docker engine. Connects at the first call. */
export function createDockerRuntime(deps: DockerRuntimeDeps): ContainerRuntime {
  const { socketPath, deploymentId, workerId, initPath, clock, log, metrics } = deps;
  if (!/^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$/.test(deploymentId)) {
    throw new RangeError("deploymentId must be 1 to 63 letters, digits, '_', '.' or '-'");
  }
  const deadlines = boundedDeadlines(
    { ...DEFAULT_ENGINE_DEADLINES, ...deps.deadlines },
    deps.callLimitMs ?? Number.POSITIVE_INFINITY,
  );
  const engine = createEngineClient({ socketPath, deadlines, metrics });
  const enforced = createEnforcedLimits(engine);
  const owner = { deploymentId, workerId, initPath };
  /** What images declare never changes under a digest, so it is asked once. */
  const declarations = new Map<string, Promise<ImageDeclarations>>();
  const cleanups = new Set<Promise<void>>();
  const settled = async (): Promise<void> => {
    await Promise.all(cleanups);
  };

  const declarationsOf = (image: string): Promise<ImageDeclarations> => {
    const known = declarations.get(image);
    if (known !== undefined) return known;
    const asked = engine.image(image, null).then((facts) => {
      if (facts === null) throw engineFault("image_inspect", { statusCode: 404 });
      return { volumes: facts.volumes, environmentNames: facts.environmentNames };
    });
    declarations.set(image, asked);
    asked.catch(() => declarations.delete(image));
    return asked;
  };

  const newName = (): string => `bailiff-${deploymentId}-${randomBytes(10).toString("hex")}`;

  /**
   * Removes what a failed preparation may have made, once the engine is through with making it: before that a removal finds
   * nothing. What this can't remove, the sweeper finds by its labels.
   */
  const cleanUp = (container: string, creating: Promise<unknown>, isGivenUp: boolean): Promise<void> => {
    const cleaning = creating
      .catch((error: unknown) => {
        // Silent for so long since: who gave up, such as a worker that ends, is not kept for a second deadline.
        if (isGivenUp && engineFault("create", error).code === "deadline") throw error;
      })
      .then(() => removeContainer(engine, container))
      .catch((error: unknown) => {
        const { code, operation } = engineFault("remove", error);
        log.warn({ container, code, operation }, "a container is left to the sweeper");
      })
      .finally(() => cleanups.delete(cleaning));
    cleanups.add(cleaning);
    return cleaning;
  };

  const prepare = async (purpose: ContainerPurpose, signal: AbortSignal): Promise<ReadyContainer> => {
    if (purpose.uid === 0 || purpose.gid === 0) {
      throw new RuntimeFault("refused", "create", "create: a command never runs as root");
    }
    const image = await declarationsOf(purpose.profile.image);
    if (unusableVolumes(image).length > 0) {
      throw new RuntimeFault(
        "refused",
        "create",
        "create: the image declares a volume where Bailiff mounts its own",
      );
    }
    const spec = buildContainerSpec(purpose, owner, image);
    const name = newName();
    const began = performance.now();
    let container = name;
    let channel: InitChannel | null = null;
    let creating: Promise<unknown> = Promise.resolve();
    try {
      container = await callWithDeadline({
        operation: "create",
        // Beyond the deadlines inside: this one only lets go who gives up.
        deadlineMs: deadlines.pingMs + deadlines.createMs,
        signal,
        call: () => {
          const asked = engine.create(name, spec);
          creating = asked;
          return asked;
        },
      });
      const created = container;
      const attached = createInitChannel(await engine.attach(created, signal));
      channel = attached;
      await engine.start(created, signal);
      await callWithDeadline({
        operation: "ready",
        deadlineMs: deadlines.readyMs,
        signal,
        call: () =>
          attached.ready.catch((cause: unknown) => {
            throw new RuntimeFault("not_ready", "ready", "ready: the container did not become ready", cause);
          }),
      });
      await enforced.check(created, purpose.profile);
      metrics.observe("bailiff_container_prepare_seconds", (performance.now() - began) / 1000);
      return createReadyContainer({
        engine,
        channel: attached,
        containerId: created,
        purpose,
        createdAtMs: clock.nowMs(),
        log,
      });
    } catch (error) {
      const fault = engineFault("create", error);
      const stray = channel?.strayText() ?? "";
      channel?.close();
      log.warn({ container, code: fault.code, operation: fault.operation, stray }, "container not prepared");
      if (fault.code === "image_missing") declarations.delete(purpose.profile.image);
      // A plain refusal to create made nothing. An engine that does not answer is not waited for twice.
      const madeNothing =
        fault.operation === "ping" || (fault.operation === "create" && fault.code === "image_missing");
      if (!madeNothing) {
        const cleaning = cleanUp(container, creating, signal.aborted);
        // Nor by who gave up, while the engine still has the create.
        if (fault.code !== "deadline" && fault.code !== "unreachable" && !signal.aborted) await cleaning;
      }
      throw fault;
    }
  };

  return {
    prepare,
    async list() {
      const found = await engine.list(`${LABEL.deployment}=${deploymentId}`);
      return found.map(({ id, state, labels, createdAtMs }) => ({
        containerId: id,
        state: listedState(state),
        workerId: labels[LABEL.worker] ?? null,
        commandId: labels[LABEL.command] ?? null,
        isProbe: labels[LABEL.probe] !== undefined,
        createdAtMs,
        deadlineMs: labelledTime(labels[LABEL.deadline]),
      }));
    },
    remove(containerId) {
      return removeContainer(engine, containerId);
    },
    probe(profiles, workspacesRoot) {
      return probeEngine(
        {
          engine,
          prepare,
          owner,
          newName,
          missingLimits: enforced.missing,
          clock,
          probeUid: deps.probeUid ?? 10_001,
          probeGid: deps.probeGid ?? 10_001,
        },
        profiles,
        workspacesRoot,
      );
    },
    settled,
    async close() {
      await settled();
      engine.close();
    },
  };
}
