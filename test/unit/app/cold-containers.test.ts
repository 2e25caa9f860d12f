import { describe, expect, it } from "vitest";
import { createColdContainers } from "../../../src/app/execute/cold-containers.js";
import type {
  ContainerPurpose,
  ContainerRuntime,
  ReadyContainer,
} from "../../../src/ports/container-runtime.js";
import { silentLog, silentMetrics } from "../../support/redis-fixtures.js";

const purpose = {} as ContainerPurpose;
const never = new AbortController().signal;
const settle = () => new Promise((resolve) => setImmediate(resolve));

/** A runtime whose preparations end when the test says so. */
function heldRuntime() {
  const pending: { resolve: () => void; reject: (error: Error) => void }[] = [];
  let made = 0;
  const runtime = {
    settled: async () => undefined,
    prepare: () =>
      new Promise<ReadyContainer>((resolve, reject) => {
        made += 1;
        const containerId = `container-${made}`;
        pending.push({
          resolve: () => resolve({ containerId, destroy: async () => undefined } as ReadyContainer),
          reject,
        });
      }),
  } as unknown as ContainerRuntime;
  return { runtime, pending };
}

function coldOver(runtime: ContainerRuntime, startsAtOnce: number) {
  return createColdContainers({ runtime, startsAtOnce, log: silentLog, metrics: silentMetrics });
}

describe("cold containers", () => {
  it("are made so many at once and no more, in the order they were asked for", async () => {
    const { runtime, pending } = heldRuntime();
    const containers = coldOver(runtime, 2);
    const made: number[] = [];
    const asked = Array.from({ length: 5 }, async (_, i) => {
      await containers.acquire(purpose, never);
      made.push(i);
    });
    for (let done = 0; done < 5; done += 1) {
      await settle();
      expect(pending).toHaveLength(Math.min(5, done + 2));
      pending[done]?.resolve();
    }
    await Promise.all(asked);
    expect(made).toEqual([0, 1, 2, 3, 4]);
  });

  it("leave the way free for the next one also when the engine refuses", async () => {
    const { runtime, pending } = heldRuntime();
    const containers = coldOver(runtime, 1);
    const refused = containers.acquire(purpose, never);
    const next = containers.acquire(purpose, never);
    await settle();
    pending[0]?.reject(new Error("refused"));
    await expect(refused).rejects.toThrow("refused");
    await settle();
    pending[1]?.resolve();
    expect((await next).containerId).toBe("container-2");
  });

  it("are given up by who waits too long for a turn, which takes nobody's turn", async () => {
    const { runtime, pending } = heldRuntime();
    const containers = coldOver(runtime, 1);
    const first = containers.acquire(purpose, never);
    const patience = new AbortController();
    const impatient = containers.acquire(purpose, patience.signal);
    const third = containers.acquire(purpose, never);
    patience.abort();
    await expect(impatient).rejects.toMatchObject({ name: "RuntimeFault", code: "deadline" });
    pending[0]?.resolve();
    await first;
    await settle();
    expect(pending).toHaveLength(2);
    pending[1]?.resolve();
    await third;
  });
});
