import { expect, test } from "vitest";
import { withQuota } from "../../../src/app/execute/quota-containers.js";
import type { ContainerPurpose, ContainerRuntime } from "../../../src/ports/container-runtime.js";
import type { QuotaHold } from "../../../src/ports/workspace-quota.js";
import { createCapturedLog } from "../../support/captured-log.js";

const purpose = {
  tenant: "acme",
  workspaceId: "w",
  workspacePath: "/w",
  workspaceIdentity: "1:2:3",
} as ContainerPurpose;

function world(hold: QuotaHold, isRequired: boolean) {
  const steps: string[] = [];
  const log = createCapturedLog();
  const bare = {
    prepare: async () => {
      steps.push("prepare");
      return {};
    },
  } as unknown as ContainerRuntime;
  const quota = {
    tryOut: async () => hold,
    hold: async (path: string) => {
      steps.push(`hold ${path}`);
      return hold;
    },
    share: async () => {},
  };
  const runtime = withQuota(bare, { quota, isRequired, log });
  return { steps, log, prepare: () => runtime.prepare(purpose, new AbortController().signal) };
}

test("a workspace's limits are seen to before a container for it is made", async () => {
  const { steps, prepare } = world({ held: true }, true);
  await prepare();
  expect(steps).toEqual(["hold /w", "prepare"]);
});

test("one that can't be held gets no container where quotas are required", async () => {
  const { steps, prepare } = world({ held: false, reason: "setquota is not installed" }, true);
  await expect(prepare()).rejects.toMatchObject({
    code: "mount_refused",
    message: "the workspace has no quota: setquota is not installed",
  });
  expect(steps).toEqual(["hold /w"]);
});

test("elsewhere it does, and one warning says that it is only watched", async () => {
  const { steps, log, prepare } = world({ held: false, reason: "setquota is not installed" }, false);
  await prepare();
  await prepare();
  expect(steps).toEqual(["hold /w", "prepare", "hold /w", "prepare"]);
  expect(log.lines.map(({ level, message }) => [level, message])).toEqual([
    ["warn", "a workspace has no quota; it is watched alone"],
  ]);
});
