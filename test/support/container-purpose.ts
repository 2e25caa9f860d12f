import { DEFAULT_CONTAINER_LIMITS } from "../../src/domain/limits.js";
import type { ContainerPurpose } from "../../src/ports/container-runtime.js";

/** What a container is for, complete and no engine's; `more` is what a test cares about. */
export const aPurpose = (more: Partial<ContainerPurpose> = {}): ContainerPurpose => ({
  tenant: "t",
  workspaceId: "w",
  workspacePath: "/w",
  workspaceIdentity: "1:1:0",
  uid: 1,
  gid: 1,
  profile: {
    name: "p",
    image: "sha256:a",
    imageDigest: "sha256:a",
    network: "none",
    ociRuntime: null,
    limits: DEFAULT_CONTAINER_LIMITS,
  },
  commandId: null,
  deadlineMs: 1,
  ...more,
});
