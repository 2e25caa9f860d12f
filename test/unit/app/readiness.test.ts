import { expect, test } from "vitest";
import { createReadiness } from "../../../src/app/readiness.js";

test("a note, as of a refused policy document, shows in the detail and takes no readiness", async () => {
  const { readiness } = createReadiness(
    { policy: async () => null, redis: async () => null },
    { policy: { inPublic: "refused", whole: () => "policy.yaml:3:1: no such key" } },
  );
  expect(await readiness()).toEqual({
    ready: true,
    checks: {
      policy: { ok: true, detail: "refused", operatorDetail: "policy.yaml:3:1: no such key" },
      redis: { ok: true, detail: null, operatorDetail: null },
    },
  });
});

test("one failed check, or one that throws, makes the process unready and hides no other", async () => {
  const { readiness } = createReadiness(
    {
      policy: async () => null,
      redis: async () => "redis does not answer",
      worker: async () => {
        throw new Error("secret");
      },
    },
    { redis: { inPublic: "a note", whole: () => "a whole note" } },
  );
  expect(await readiness()).toEqual({
    ready: false,
    checks: {
      policy: { ok: true, detail: null, operatorDetail: null },
      redis: { ok: false, detail: "redis does not answer", operatorDetail: "redis does not answer" },
      worker: { ok: false, detail: "the check itself failed", operatorDetail: "the check itself failed" },
    },
  });
});
