/** Bounds of one service, in the units their names say. `docs/configuration.md` explains each. */
export interface ServiceLimits {
  readonly defaultTimeoutMs: number;
  readonly hardTimeoutMs: number;
  /** Characters are Unicode code points. */
  readonly defaultCallChars: number;
  readonly hardCallChars: number;
  readonly serviceChars: number;
  readonly streamCaptureBytes: number;
  readonly streamHardBytes: number;
  /** Bound on the UTF-8 JSON of one normalized result. */
  readonly persistenceBytes: number;
  readonly requestBodyBytes: number;
  /** How long an ended command may take to be killed and reported before it counts as lost. */
  readonly graceMs: number;
  readonly approvalExpiryMs: number;
  readonly resultTtlMs: number;
  readonly evidenceTtlMs: number;
  /** What one workspace may occupy; a command that makes it larger is ended. */
  readonly workspaceBytes: number;
  readonly workspaceInodes: number;
}

/** What one container may use. */
export interface ContainerLimits {
  readonly memoryBytes: number;
  readonly pids: number;
  readonly nanoCpus: number;
  readonly tmpBytes: number;
  readonly shmBytes: number;
  readonly homeBytes: number;
  readonly openFiles: number;
}

export const DEFAULT_SERVICE_LIMITS: ServiceLimits = {
  defaultTimeoutMs: 30_000,
  hardTimeoutMs: 300_000,
  defaultCallChars: 32_000,
  hardCallChars: 200_000,
  serviceChars: 200_000,
  streamCaptureBytes: 1 << 20,
  streamHardBytes: 8 << 20,
  persistenceBytes: 1 << 20,
  requestBodyBytes: 2 << 20,
  graceMs: 2_000,
  approvalExpiryMs: 15 * 60_000,
  resultTtlMs: 24 * 3_600_000,
  evidenceTtlMs: 90 * 24 * 3_600_000,
  workspaceBytes: 10 * 2 ** 30,
  workspaceInodes: 1_000_000,
};

export const DEFAULT_CONTAINER_LIMITS: ContainerLimits = {
  memoryBytes: 512 << 20,
  pids: 256,
  nanoCpus: 1_000_000_000,
  tmpBytes: 64 << 20,
  shmBytes: 16 << 20,
  homeBytes: 64 << 20,
  openFiles: 1024,
};

/** Every contradiction between the limits, as a sentence that names what to change; empty when they fit together. */
export function limitContradictions(limits: ServiceLimits): string[] {
  const problems: string[] = [];
  const atMost = (small: keyof ServiceLimits, large: keyof ServiceLimits) => {
    if (limits[small] > limits[large]) {
      problems.push(`${small} (${limits[small]}) must be at most ${large} (${limits[large]})`);
    }
  };
  for (const [name, value] of Object.entries(limits)) {
    if (!Number.isSafeInteger(value) || value <= 0) problems.push(`${name} must be a whole number above 0`);
  }
  atMost("defaultTimeoutMs", "hardTimeoutMs");
  atMost("defaultCallChars", "hardCallChars");
  atMost("hardCallChars", "serviceChars");
  atMost("streamCaptureBytes", "streamHardBytes");
  // An idempotency key is kept as long as a result: it must not be forgotten while its command is still open.
  atMost("approvalExpiryMs", "resultTtlMs");
  atMost("hardTimeoutMs", "resultTtlMs");
  return problems;
}
