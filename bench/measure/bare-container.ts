import type { TestEnvironment } from "../../test/support/environment.js";

/** The label of every container that a benchmark makes by hand. */
export function benchLabel(runId: string): string {
  return `bailiff.bench=${runId}`;
}

/** A container like that of `docker run --network none IMAGE true`: nothing of Bailiff's hardening. */
export function bareContainer(environment: TestEnvironment, runId: string): Record<string, unknown> {
  return {
    Image: environment.sandboxImageId,
    Cmd: ["true"],
    AttachStdout: true,
    AttachStderr: true,
    Labels: { "bailiff.bench": runId },
    HostConfig: { NetworkMode: "none" },
  };
}
