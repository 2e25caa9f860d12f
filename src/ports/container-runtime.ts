import type { ContainerLimits } from "../domain/limits.js";
import type { InitReport } from "../domain/outcome.js";
import type { CapturedStream } from "../domain/output.js";

/** An image, its limits and how it is run; resolved from policy and configuration. */
export interface RuntimeProfile {
  readonly name: string;
  /** `sha256:…` image id or `name@sha256:…`; never a tag. */
  readonly image: string;
  readonly imageDigest: string;
  readonly network: "none" | string;
  /** OCI runtime name as the engine knows it; null for the engine's default. */
  readonly ociRuntime: string | null;
  /** Whether files in `/tmp` and HOME may be executed; absent means no. */
  readonly execInTmp?: boolean;
  /** Whether it may run on an OCI runtime that does not enforce `limits`; absent means no. */
  readonly acceptsUnenforcedLimits?: boolean;
  readonly limits: ContainerLimits;
}

/** What a container is made for. It is created without an argv; it belongs to one workspace of one tenant. */
export interface ContainerPurpose {
  readonly tenant: string;
  readonly workspaceId: string;
  /** As the engine sees it; must exist. */
  readonly workspacePath: string;
  /** Which directory that is; another one that takes its place has another. */
  readonly workspaceIdentity: string;
  /** Owner of the workspace, the uid the command runs as; never 0. */
  readonly uid: number;
  readonly gid: number;
  readonly profile: RuntimeProfile;
  /** Null for a container that waits for a command. */
  readonly commandId: string | null;
  /** A container to try the engine with, made by a worker that may not hold a lease yet. */
  readonly isProbe?: true;
  /** After this a sweeper may remove it whoever holds it. */
  readonly deadlineMs: number;
}

/** The one request a container ever serves. */
export interface ProcessRequest {
  readonly argv: readonly string[];
  /** Relative to the workspace root, canonical. */
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly stdoutCaptureBytes: number;
  readonly stdoutHardBytes: number;
  readonly stderrCaptureBytes: number;
  readonly stderrHardBytes: number;
  /** How long after the timeout the report may come before the end counts as unproven. */
  readonly graceMs: number;
}

/** How one container's work ended. `lost` proves nothing; its streams are what had arrived. */
export type ProcessEnd =
  | {
      readonly kind: "report";
      readonly report: InitReport;
      readonly stdout: CapturedStream;
      readonly stderr: CapturedStream;
    }
  | {
      readonly kind: "lost";
      readonly detail: string;
      readonly stdout: CapturedStream;
      readonly stderr: CapturedStream;
    };

/** A started container past its readiness frame, not yet used. Leased once; never reused. */
export interface ReadyContainer {
  readonly containerId: string;
  readonly purpose: ContainerPurpose;
  readonly createdAtMs: number;
  /** False once the attach stream ended, an unexpected frame came, or it was used. Synchronous, no I/O. */
  isHealthy(): boolean;
  /** Whether its bailiff-init answers in time, which one that is dead or frozen does not. For an unused one; never rejects. */
  answers(withinMs: number): Promise<boolean>;
  /**
   * Send the argv and resolve with the end; never rejects. Resolves at bailiff-init's report, before the engine
   * notices. Call at most once. Aborting the signal kills the command (the end is then the report, or lost).
   */
  run(request: ProcessRequest, signal: AbortSignal): Promise<ProcessEnd>;
  /** Kill and remove; idempotent. Rejects with RuntimeFault when the engine did not confirm the removal. */
  destroy(): Promise<void>;
}

/** One of this deployment's containers as the engine lists it. */
export interface ContainerListing {
  readonly containerId: string;
  readonly state: "created" | "running" | "exited" | "dead" | "other";
  readonly workerId: string | null;
  readonly commandId: string | null;
  readonly isProbe: boolean;
  readonly createdAtMs: number;
  readonly deadlineMs: number | null;
}

/** What the engine is and what it can enforce; `problems` empty when it is fit. */
export interface EngineProbe {
  /** Stable id of the engine, the same for every worker that uses it. */
  readonly engineId: string;
  readonly apiVersion: string;
  readonly engineVersion: string;
  readonly cgroupVersion: string;
  readonly problems: readonly string[];
  /** What is not as it should be and a profile accepts. */
  readonly warnings: readonly string[];
}

/** The engine failed, refused or did not answer in time. `started` says whether a container may exist. */
export class RuntimeFault extends Error {
  override readonly name = "RuntimeFault";
  readonly code: "unreachable" | "deadline" | "image_missing" | "mount_refused" | "refused" | "not_ready";
  readonly operation: string;
  constructor(code: RuntimeFault["code"], operation: string, message: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
    this.operation = operation;
  }
}

/** Single-use containers. Every engine call has its own deadline. Out of scope: policy, Redis, what an end means. */
export interface ContainerRuntime {
  /** Create, attach, start, wait for READY. Rejects with RuntimeFault; what it made is removed or left to the sweeper. */
  prepare(purpose: ContainerPurpose, signal: AbortSignal): Promise<ReadyContainer>;
  /** Every container of this deployment on this engine, used or not. */
  list(): Promise<readonly ContainerListing[]>;
  /** Kill and remove by id; a container that is gone already counts as removed. */
  remove(containerId: string): Promise<void>;
  /** Whether limits are enforceable, images present, and the workspaces root is the one the engine sees. */
  probe(profiles: readonly RuntimeProfile[], workspacesRoot: string): Promise<EngineProbe>;
  /** Resolves once what given-up preparations may have made is removed, or left to the sweeper. */
  settled(): Promise<void>;
  close(): Promise<void>;
}
