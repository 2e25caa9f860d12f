import { describe, expect, it } from "vitest";
import { createEnforcedLimits, unenforcedLimits } from "../../../../src/adapters/docker/enforced-limits.js";
import type { KernelBounds } from "../../../../src/adapters/docker/engine-client.js";
import { DEFAULT_CONTAINER_LIMITS } from "../../../../src/domain/limits.js";
import type { RuntimeProfile } from "../../../../src/ports/container-runtime.js";

const { memoryBytes, pids } = DEFAULT_CONTAINER_LIMITS;
const everything = ["memory", "processes", "CPU time"];

describe("limits", () => {
  it.each<[string, KernelBounds, readonly string[]]>([
    ["the same bounds", { memoryBytes, pids }, []],
    ["a bound rounded down to a page", { memoryBytes: memoryBytes - 4095, pids }, []],
    ["no bound at all", { memoryBytes: null, pids: null }, everything],
    ["the machine's memory as the bound", { memoryBytes: 64 * memoryBytes, pids: null }, everything],
    ["no bound on processes", { memoryBytes, pids: null }, ["processes", "CPU time"]],
    ["a higher bound on processes", { memoryBytes, pids: pids + 1 }, ["processes", "CPU time"]],
    ["no bound on memory", { memoryBytes: null, pids }, ["memory", "CPU time"]],
  ])("with %s", (_, bounds, missing) => {
    expect(unenforcedLimits(bounds, DEFAULT_CONTAINER_LIMITS)).toEqual(missing);
  });
});

describe("an OCI runtime", () => {
  const unbounded: KernelBounds = { memoryBytes: null, pids: null };
  const profile = (overrides: Partial<RuntimeProfile> = {}): RuntimeProfile => ({
    name: "p",
    image: "sha256:0",
    imageDigest: "sha256:0",
    network: "none",
    ociRuntime: "runsc",
    limits: DEFAULT_CONTAINER_LIMITS,
    ...overrides,
  });

  it("without limits gets no command, unless its profile accepts that", async () => {
    const enforced = createEnforcedLimits({ bounds: async () => unbounded });
    await expect(enforced.check("c1", profile())).rejects.toMatchObject({
      code: "refused",
      operation: "stats",
    });
    await enforced.check("c2", profile({ acceptsUnenforcedLimits: true }));
    await expect(enforced.check("c3", profile())).rejects.toMatchObject({ code: "refused" });
    expect(enforced.missing("runsc")).toEqual(everything);
    expect(enforced.missing(null)).toEqual([]);
  });

  it("is looked at once, each for itself", async () => {
    const asked: string[] = [];
    const enforced = createEnforcedLimits({
      bounds: async (container) => {
        asked.push(container);
        return { memoryBytes, pids };
      },
    });
    await enforced.check("c1", profile());
    await enforced.check("c2", profile());
    await enforced.check("c3", profile({ ociRuntime: null }));
    expect(asked).toEqual(["c1", "c3"]);
  });

  it("that could not be looked at is looked at again", async () => {
    let fails = true;
    const enforced = createEnforcedLimits({
      bounds: async () => {
        if (fails) throw new Error("no answer");
        return { memoryBytes, pids };
      },
    });
    await expect(enforced.check("c1", profile())).rejects.toThrow("no answer");
    fails = false;
    await enforced.check("c2", profile());
  });
});
