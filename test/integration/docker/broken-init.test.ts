import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { benchRequest, createDockerBench, type DockerBench } from "../../support/docker-bench.js";
import { encodeFrame, frameType } from "../../support/init-protocol.js";
import { encodeReport } from "../../support/report-bytes.js";
import { createScratchDirectory } from "../../support/scratch-directory.js";

const signal = () => new AbortController().signal;
const READY = encodeFrame(frameType.ready, Buffer.from([0, 0, 0, 1]));
const STARTED = encodeFrame(frameType.started);

/** A shell command that prints these bytes. */
const print = (...frames: Buffer[]) =>
  `printf '${[...Buffer.concat(frames)].map((byte) => `\\${byte.toString(8).padStart(3, "0")}`).join("")}'`;
const AWAIT_REQUEST = "head -c 8 >/dev/null";

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

/** A bench whose PID 1 is this script instead of bailiff-init. */
async function benchWithInit(lines: readonly string[], readyMs = 60_000): Promise<DockerBench> {
  const scratch = await createScratchDirectory();
  const initPath = join(scratch.path, "init");
  await writeFile(initPath, `#!/bin/sh\n${lines.join("\n")}\n`, { mode: 0o755 });
  const bench = await createDockerBench({ initPath, deadlines: { readyMs } });
  closers.push(async () => {
    await bench.close();
    await scratch.remove();
    expect(await bench.leftovers()).toEqual([]);
  });
  return bench;
}

describe("a container whose PID 1 is not what it should be", () => {
  it.each<[string, string[], string]>([
    ["never speaks", ["sleep 600"], "deadline"],
    ["ends at once", ["exit 0"], "not_ready"],
    ["speaks of something else", ["echo hello, whoever is there; sleep 600"], "not_ready"],
    ["reports before it is asked", [print(READY.subarray(0, 4), encodeReport({})), "sleep 600"], "not_ready"],
  ])("is not prepared when it %s", async (_, lines, code) => {
    const bench = await benchWithInit(lines, code === "deadline" ? 1_500 : 60_000);
    await expect(
      bench.runtime.prepare(bench.purpose(await bench.workspace()), signal()),
    ).rejects.toMatchObject({
      name: "RuntimeFault",
      code,
      operation: "ready",
    });
    await bench.runtime.close();
    expect(await bench.leftovers()).toEqual([]);
  });

  it("is not prepared when it can't be executed", async () => {
    const bench = await createDockerBench({ initPath: "/etc/passwd" });
    closers.push(() => bench.close());
    await expect(
      bench.runtime.prepare(bench.purpose(await bench.workspace()), signal()),
    ).rejects.toMatchObject({
      name: "RuntimeFault",
      code: "refused",
      operation: "start",
    });
    expect(await bench.leftovers()).toEqual([]);
  });

  const reported = (overrides: Parameters<typeof encodeReport>[0]) =>
    print(STARTED, encodeFrame(frameType.report, encodeReport(overrides)));

  it.each<[string, string[], string]>([
    ["exits with 0", ["exit 0"], "ended without a report"],
    ["exits with 137", ["exit 137"], "ended without a report"],
    ["exits with 255", ["exit 255"], "ended without a report"],
    ["answers with noise", ["echo noise that is no frame"], "bailiff-init sent"],
    ["says nothing more", ["sleep 600"], "no report inside timeout and grace"],
    ["hides output", [reported({ stdoutBytes: 5n })], "output is incomplete"],
    [
      "floods",
      [
        print(STARTED),
        `while :; do ${print(encodeFrame(frameType.stdout, Buffer.alloc(0)).fill(1, 5, 6))}; head -c 65536 /dev/zero; done`,
      ],
      "more output than it was asked for",
    ],
  ])("loses its command when it %s, and never invents a returncode", async (_, lines, detail) => {
    const bench = await benchWithInit([print(READY), AWAIT_REQUEST, ...lines]);
    const container = await bench.runtime.prepare(bench.purpose(await bench.workspace()), signal());
    try {
      const request = benchRequest(["true"], { timeoutMs: 2_000, graceMs: 1_000 });
      const end = await container.run(request, signal());
      expect(end).toMatchObject({ kind: "lost", detail: expect.stringContaining(detail) });
      expect(end.stdout.bytes.length).toBeLessThanOrEqual(request.stdoutCaptureBytes);
    } finally {
      await container.destroy();
    }
  });
});
