import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createDockerBench, type DockerBench } from "../../support/docker-bench.js";
import { readTestEnvironment } from "../../support/environment.js";
import { createProxiedEngine, type ProxiedEngine } from "../../support/proxied-engine.js";

let engine: ProxiedEngine;
let bench: DockerBench;
beforeAll(async () => {
  engine = await createProxiedEngine(readTestEnvironment().dockerSocket);
});
beforeEach(async () => {
  bench = await createDockerBench({ socketPath: engine.socketPath });
});
afterEach(async () => {
  engine.rewriteCreate((body) => body);
  expect(await readdir(bench.workspacesRoot)).toEqual([]);
  await bench.close();
  expect(await bench.leftovers()).toEqual([]);
});
afterAll(() => engine.close());

const problems = async (overrides: Parameters<DockerBench["profile"]>[0] = {}) =>
  (await bench.runtime.probe([bench.profile(overrides)], bench.workspacesRoot)).problems;

describe("the probe", () => {
  it("finds an engine fit that sees the same workspaces, and leaves nothing behind", async () => {
    expect(await bench.runtime.probe([bench.profile()], bench.workspacesRoot)).toEqual({
      engineId: expect.stringMatching(/./),
      apiVersion: expect.stringMatching(/^1\.\d+$/),
      engineVersion: expect.stringMatching(/^\d+\./),
      cgroupVersion: expect.stringMatching(/^[12]$/),
      problems: [],
      warnings: [],
    });
  });

  it("finds that the engine has another directory at that path (FB-41)", async () => {
    const elsewhere = await bench.workspace();
    await mkdir(join(elsewhere.path, "sentinel"));
    engine.rewriteCreate((body) =>
      body.replace(/"Source":"[^"]*\.bailiff-probe-[^"]*"/, `"Source":"${elsewhere.path}"`),
    );
    const root = join(bench.workspacesRoot, "root");
    await mkdir(root);
    const probe = await bench.runtime.probe([bench.profile()], root);
    expect(probe.problems).toEqual([
      expect.stringMatching(/^the engine (does not see the workspaces root|maps user ids)/),
    ]);
    await bench.close();
    bench = await createDockerBench({ socketPath: engine.socketPath });
  });

  it("finds that the engine lacks the directory (FB-41)", async () => {
    engine.rewriteCreate((body) =>
      body.replace(/"Source":"[^"]*\.bailiff-probe-[^"]*"/, '"Source":"/no/such/root"'),
    );
    expect(await problems()).toEqual([
      "the engine does not see the workspaces root: the directory is missing on its side",
    ]);
  });

  it("finds that the engine lacks bailiff-init", async () => {
    const lacking = await createDockerBench({ socketPath: engine.socketPath, initPath: "/no/such/init" });
    const { problems: found } = await lacking.runtime.probe([lacking.profile()], lacking.workspacesRoot);
    expect(found).toEqual(["the engine does not see bailiff-init at the configured path"]);
    await lacking.close();
    expect(await lacking.leftovers()).toEqual([]);
  });

  it("finds an absent image and pulls nothing (FB-30)", async () => {
    const absent = `sha256:${"0".repeat(64)}`;
    expect(await problems({ image: absent, imageDigest: absent })).toEqual([
      expect.stringContaining('profile "default": its image is not on this engine'),
    ]);
  });

  it("finds an image of another digest, an unknown OCI runtime and an unknown network", async () => {
    expect(
      await problems({ imageDigest: `sha256:${"1".repeat(64)}`, ociRuntime: "no-such", network: "no-such" }),
    ).toEqual([
      expect.stringContaining("another digest"),
      expect.stringContaining("OCI runtime"),
      expect.stringContaining("network"),
    ]);
  });

  it("finds a workspaces root that is not there", async () => {
    const { problems: found } = await bench.runtime.probe([bench.profile()], "/no/such/root");
    expect(found).toEqual(["a directory can't be made below the workspaces root"]);
  });
});
