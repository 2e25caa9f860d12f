import Docker from "dockerode";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { EngineDeadlines } from "../../../src/adapters/docker/engine-deadlines.js";
import { benchRequest, createDockerBench, type DockerBench } from "../../support/docker-bench.js";
import { readTestEnvironment } from "../../support/environment.js";
import {
  createProxiedEngine,
  type ProxiedCall,
  type ProxiedEngine,
  type Silence,
} from "../../support/proxied-engine.js";

const SHORT_MS = 700;
const signal = () => new AbortController().signal;

/** Speaks to the real engine; what a silent one left behind is its to find. */
let sweeper: DockerBench;
let engine: ProxiedEngine;
let docker: Docker;
const benches: DockerBench[] = [];
beforeAll(async () => {
  const { dockerSocket } = readTestEnvironment();
  docker = new Docker({ socketPath: dockerSocket });
  sweeper = await createDockerBench();
});
beforeEach(async () => {
  engine = await createProxiedEngine(readTestEnvironment().dockerSocket);
});
afterEach(async () => {
  engine.speak();
  await Promise.all(benches.splice(0).map((bench) => bench.close()));
  await engine.close();
  // A create or start that nobody heard of may still be on its way through the engine.
  await expect
    .poll(
      async () => {
        for (const { containerId } of await sweeper.runtime.list()) await sweeper.runtime.remove(containerId);
        return sweeper.leftovers();
      },
      { timeout: 60_000 },
    )
    .toEqual([]);
});
afterAll(() => sweeper.close());

async function benchWith(deadlines: Partial<EngineDeadlines>): Promise<DockerBench> {
  const bench = await createDockerBench({
    socketPath: engine.socketPath,
    deploymentId: sweeper.deploymentId,
    deadlines,
  });
  benches.push(bench);
  return bench;
}

describe("an engine that accepts and stays silent", () => {
  it.each<[ProxiedCall, Silence, Partial<EngineDeadlines>]>([
    ["ping", "unsent", { pingMs: SHORT_MS }],
    ["create", "unsent", { createMs: SHORT_MS }],
    ["create", "unanswered", { createMs: SHORT_MS }],
    ["attach", "unsent", { attachMs: SHORT_MS }],
    ["start", "unsent", { startMs: SHORT_MS }],
    ["start", "unanswered", { startMs: SHORT_MS }],
  ])("on %s (%s) ends a preparation by the call's deadline (FB-22)", async (call, how, deadlines) => {
    const bench = await benchWith(deadlines);
    engine.silence(call, how);
    await expect(
      bench.runtime.prepare(bench.purpose(await bench.workspace()), signal()),
    ).rejects.toMatchObject({
      name: "RuntimeFault",
      code: "deadline",
      operation: call,
    });
  });

  it("on everything once the container exists leaves it to the sweeper, which finds it (FB-22)", async () => {
    const bench = await benchWith({ startMs: SHORT_MS, removeMs: SHORT_MS, killMs: SHORT_MS });
    engine.silence("start", "unanswered");
    engine.silence("remove", "unsent");
    engine.silence("kill", "unsent");
    await expect(
      bench.runtime.prepare(bench.purpose(await bench.workspace()), signal()),
    ).rejects.toMatchObject({
      operation: "start",
    });
    await bench.runtime.close();
    expect(bench.warnings()).toContain("a container is left to the sweeper");
    expect(await sweeper.runtime.list()).toEqual([expect.objectContaining({ commandId: "cmd_test" })]);
  });

  it("on kill and inspect ends a command as lost (FB-22)", async () => {
    const bench = await benchWith({ killMs: SHORT_MS, inspectMs: SHORT_MS });
    const container = await bench.runtime.prepare(bench.purpose(await bench.workspace()), signal());
    await docker.getContainer(container.containerId).pause();
    engine.silence("kill", "unsent");
    engine.silence("inspect", "unsent");
    const end = await container.run(benchRequest(["true"], { timeoutMs: 200, graceMs: 200 }), signal());
    expect(end).toMatchObject({
      kind: "lost",
      detail: "no report inside timeout and grace; the engine did not confirm the kill",
    });
    await container.destroy();
  });

  it("on remove makes destroy fail, and a later destroy succeed (FB-22)", async () => {
    const bench = await benchWith({ removeMs: SHORT_MS, killMs: SHORT_MS });
    const container = await bench.runtime.prepare(bench.purpose(await bench.workspace()), signal());
    engine.silence("remove", "unsent");
    engine.silence("kill", "unsent");
    await expect(container.destroy()).rejects.toMatchObject({ code: "deadline", operation: "remove" });
    expect(container.isHealthy()).toBe(false);
    engine.speak();
    await expect
      .poll(
        () =>
          container.destroy().then(
            () => "removed",
            () => "not yet",
          ),
        { timeout: 60_000 },
      )
      .toBe("removed");
  });

  it("on list makes the list fail (FB-22)", async () => {
    const bench = await benchWith({ listMs: SHORT_MS });
    engine.silence("list", "unsent");
    await expect(bench.runtime.list()).rejects.toMatchObject({ code: "deadline", operation: "list" });
  });
});

describe("an engine that is not there", () => {
  it("is unreachable, and used again once it is back", async () => {
    const bench = await benchWith({});
    expect(await bench.runtime.list()).toEqual([]);
    await engine.close();
    await expect(bench.runtime.list()).rejects.toMatchObject({ name: "RuntimeFault", code: "unreachable" });
  });

  it("takes a command that was running down to lost when its connection drops", async () => {
    const bench = await benchWith({ killMs: SHORT_MS, inspectMs: SHORT_MS });
    const container = await bench.runtime.prepare(bench.purpose(await bench.workspace()), signal());
    setTimeout(() => void engine.close(), 500);
    const end = await container.run(benchRequest(["sleep", "600"]), signal());
    expect(end).toMatchObject({
      kind: "lost",
      detail: expect.stringContaining("the attach stream ended without a report"),
    });
    await expect(container.destroy()).rejects.toMatchObject({ code: "unreachable" });
  });
});
