import { createHash } from "node:crypto";
import { Duplex } from "node:stream";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { EngineClient } from "../../../../src/adapters/docker/engine-client.js";
import { createInitChannel } from "../../../../src/adapters/docker/init-channel.js";
import { createReadyContainer } from "../../../../src/adapters/docker/ready-container.js";
import { type ProcessRequest, RuntimeFault } from "../../../../src/ports/container-runtime.js";
import { createCapturedLog } from "../../../support/captured-log.js";
import { aPurpose } from "../../../support/container-purpose.js";
import { encodeFrame, frameType, reportKind } from "../../../support/init-protocol.js";
import { encodeReport } from "../../../support/report-bytes.js";

const READY = encodeFrame(frameType.ready, Buffer.from([0, 0, 0, 1]));
const PONG = encodeFrame(frameType.pong);
const STARTED = encodeFrame(frameType.started);
const multiplexed = (...frames: Buffer[]) => encodeFrame(1, Buffer.concat(frames));
const report = (overrides: Parameters<typeof encodeReport>[0] = {}) =>
  encodeFrame(frameType.report, encodeReport(overrides));
const printed = (text: string) => encodeFrame(frameType.stdout, Buffer.from(text));
const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

/** An attach stream whose far side is the test. */
function createWire() {
  const sent: Buffer[] = [];
  const socket = new Duplex({
    read() {},
    write(chunk: Buffer, _, done) {
      sent.push(chunk);
      done();
    },
  });
  return {
    socket,
    sentTypes: () => sent.map((frame) => frame[0]),
    receive: (bytes: Buffer) => socket.push(bytes),
  };
}

function createContainer(overrides: Partial<EngineClient> = {}) {
  const calls: string[] = [];
  const wire = createWire();
  const engine = {
    inspect: async () => {
      calls.push("inspect");
      return { status: "running", running: true, oomKilled: false, exitCode: 0 };
    },
    kill: async () => {
      calls.push("kill");
    },
    remove: async () => {
      calls.push("remove");
      return "removed" as const;
    },
    ...overrides,
  } as EngineClient;
  const channel = createInitChannel(wire.socket);
  const container = createReadyContainer({
    engine,
    channel,
    containerId: "c1",
    purpose: aPurpose({ deadlineMs: 0 }),
    createdAtMs: 1,
    log: createCapturedLog(),
  });
  return { wire, channel, container, calls };
}

const request: ProcessRequest = {
  argv: ["true"],
  cwd: ".",
  environment: {},
  timeoutMs: 1_000,
  stdoutCaptureBytes: 10,
  stdoutHardBytes: 20,
  stderrCaptureBytes: 10,
  stderrHardBytes: 20,
  graceMs: 500,
};
const unaborted = new AbortController().signal;
/** Lets the stream's own queue run; fake timers leave it alone. */
const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** A container past READY. */
async function readyContainer(overrides: Partial<EngineClient> = {}) {
  const made = createContainer(overrides);
  made.wire.receive(multiplexed(READY));
  await made.channel.ready;
  return made;
}

describe("a ready container", () => {
  it("is healthy until it is used", async () => {
    const { container, wire } = await readyContainer();
    expect(container.isHealthy()).toBe(true);
    const running = container.run(request, unaborted);
    expect(container.isHealthy()).toBe(false);
    wire.receive(multiplexed(STARTED, report()));
    await running;
    expect(container.isHealthy()).toBe(false);
  });

  it("answers as long as its init does, and takes its one command after that", async () => {
    const { container, wire } = await readyContainer();
    const first = container.answers(500);
    expect(wire.sentTypes()).toEqual([frameType.ping]);
    wire.receive(multiplexed(PONG));
    expect(await first).toBe(true);
    const running = container.run(request, unaborted);
    wire.receive(multiplexed(STARTED, report()));
    expect((await running).kind).toBe("report");
    expect(await container.answers(500)).toBe(false);
  });

  it("does not answer when its init is silent, its stream ends, or it speaks unasked", async () => {
    const silent = await readyContainer();
    const late = silent.container.answers(500);
    await vi.advanceTimersByTimeAsync(500);
    expect(await late).toBe(false);
    const ending = await readyContainer();
    const ended = ending.container.answers(500);
    ending.wire.socket.push(null);
    expect(await ended).toBe(false);
    const talking = await readyContainer();
    talking.wire.receive(multiplexed(PONG));
    await settle();
    expect(talking.container.isHealthy()).toBe(false);
    expect(await talking.container.answers(500)).toBe(false);
  });

  it("is unhealthy once its stream ends, or anything but silence comes", async () => {
    const ended = await readyContainer();
    ended.wire.socket.push(null);
    await settle();
    expect(ended.container.isHealthy()).toBe(false);
    const talking = await readyContainer();
    talking.wire.receive(multiplexed(printed("x")));
    await settle();
    expect(talking.container.isHealthy()).toBe(false);
  });

  it("ends with the report, before the stream does", async () => {
    const { container, wire, calls } = await readyContainer();
    const running = container.run(request, unaborted);
    expect(wire.sentTypes()).toEqual([frameType.request]);
    wire.receive(
      multiplexed(
        STARTED,
        printed("hi"),
        report({ exitCode: 3, stdoutBytes: 2n, stdoutSha256: sha256("hi") }),
      ),
    );
    expect(await running).toMatchObject({
      kind: "report",
      report: { kind: "exited", exitCode: 3 },
      stdout: { seenBytes: 2, sha256: sha256("hi") },
    });
    expect(calls).toEqual([]);
  });

  it("serves one command only", async () => {
    const { container, wire } = await readyContainer();
    const running = container.run(request, unaborted);
    expect(await container.run(request, unaborted)).toMatchObject({
      kind: "lost",
      detail: "the container was used before",
    });
    expect(wire.sentTypes()).toEqual([frameType.request]);
    wire.receive(multiplexed(STARTED, report()));
    expect((await running).kind).toBe("report");
  });

  it("is killed and lost without a report inside timeout and grace", async () => {
    const { container, wire, calls } = await readyContainer();
    const running = container.run(request, unaborted);
    wire.receive(multiplexed(STARTED, printed("part")));
    await vi.advanceTimersByTimeAsync(1_499);
    expect(calls).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    const end = await running;
    expect(end).toMatchObject({
      kind: "lost",
      detail: expect.stringContaining("no report inside timeout and grace"),
      stdout: { seenBytes: 4, sha256: null },
    });
    expect(calls).toContain("kill");
  });

  it("believes a report that had arrived when a late timer fires first", async () => {
    const { container, wire } = await readyContainer();
    const running = container.run(request, unaborted);
    // As after a blocked event loop: the timer's callback runs before the bytes that wait are read.
    vi.advanceTimersByTime(10_000);
    wire.receive(multiplexed(STARTED, report()));
    expect((await running).kind).toBe("report");
  });

  it("is asked to cancel on abort, and killed when it does not report within grace", async () => {
    const { container, wire, calls } = await readyContainer();
    const caller = new AbortController();
    const running = container.run(request, caller.signal);
    caller.abort();
    expect(wire.sentTypes()).toEqual([frameType.request, frameType.cancel]);
    await vi.advanceTimersByTimeAsync(500);
    expect(await running).toMatchObject({
      kind: "lost",
      detail: expect.stringContaining("after the cancel"),
    });
    expect(calls).toContain("kill");
  });

  it("is never sent the argv of a command that was cancelled before", async () => {
    const { container, wire } = await readyContainer();
    const running = container.run(request, AbortSignal.abort());
    expect(wire.sentTypes()).toEqual([frameType.cancel]);
    wire.receive(multiplexed(report({ kind: reportKind.terminated, exitCode: -1 })));
    expect(await running).toMatchObject({ kind: "report", report: { kind: "terminated" } });
  });

  it.each<[string, Buffer[], string]>([
    ["output missing", [STARTED, printed("ab"), report({ stdoutBytes: 3n })], "output is incomplete"],
    ["output of another digest", [STARTED, printed("ab"), report({ stdoutBytes: 2n })], "digest"],
    ["output above the capture cap", [STARTED, printed("x".repeat(11))], "more output than it was asked for"],
    [
      "an exit above the hard cap",
      [STARTED, printed("x".repeat(10)), report({ stdoutBytes: 21n })],
      "contradicts the limits",
    ],
    ["a frame out of order", [printed("x")], "out of order"],
    ["noise", [Buffer.from("Segmentation fault")], "malformed frame header"],
  ])("is lost with %s, never a returncode", async (_, frames, detail) => {
    const { container, wire } = await readyContainer();
    const running = container.run(request, unaborted);
    wire.receive(multiplexed(...frames));
    expect(await running).toMatchObject({ kind: "lost", detail: expect.stringContaining(detail) });
  });

  it.each([
    [null, "the container is gone"],
    [{ status: "exited", running: false, oomKilled: true, exitCode: 137 }, "out of memory"],
    [{ status: "exited", running: false, oomKilled: false, exitCode: 255 }, "exit status 255"],
  ])("is lost when its stream ends, whatever the engine says: %j", async (state, words) => {
    const { container, wire } = await readyContainer({ inspect: async () => state });
    const running = container.run(request, unaborted);
    wire.socket.push(null);
    const end = await running;
    expect(end).toMatchObject({ kind: "lost", detail: expect.stringContaining(words) });
  });

  it("is lost when its stream breaks and the engine is silent (FB-22)", async () => {
    const silent = async () => {
      throw new RuntimeFault("deadline", "kill", "kill: late");
    };
    const { container, wire } = await readyContainer({ inspect: silent, kill: silent });
    const running = container.run(request, unaborted);
    wire.socket.destroy(new Error("ECONNRESET"));
    expect(await running).toMatchObject({
      kind: "lost",
      detail: "the attach stream ended without a report; the engine did not confirm the kill",
    });
  });

  it("is lost, not stuck, when it died while nobody looked", async () => {
    const { container, wire } = await readyContainer();
    wire.socket.destroy();
    await settle();
    expect((await container.run(request, unaborted)).kind).toBe("lost");
  });

  it("sends nothing for a request that can't be encoded", async () => {
    const { container, wire } = await readyContainer();
    const end = await container.run({ ...request, argv: ["a\0"] }, unaborted);
    expect(end).toMatchObject({ kind: "lost", detail: "nothing was sent: argv holds a NUL" });
    expect(wire.sentTypes()).toEqual([]);
  });

  it("is destroyed once, and again only after a failure", async () => {
    let fail = true;
    let removals = 0;
    const { container } = await readyContainer({
      remove: async () => {
        removals += 1;
        if (fail) throw new RuntimeFault("deadline", "remove", "remove: late");
        return "removed";
      },
    });
    await expect(container.destroy()).rejects.toMatchObject({ code: "deadline" });
    fail = false;
    await Promise.all([container.destroy(), container.destroy()]);
    await container.destroy();
    expect(removals).toBe(2);
    expect(container.isHealthy()).toBe(false);
  });

  it("counts as destroyed when it is gone, and waits for another's removal", async () => {
    const gone = await readyContainer({ remove: async () => "gone" });
    await gone.container.destroy();
    let looks = 0;
    const busy = await readyContainer({
      remove: async () => "busy",
      inspect: async () => {
        looks += 1;
        return looks < 3 ? { status: "removing", running: false, oomKilled: false, exitCode: 0 } : null;
      },
    });
    const destroying = busy.container.destroy();
    await vi.advanceTimersByTimeAsync(1_000);
    await destroying;
    expect(looks).toBe(3);
  });

  it("never became ready when the stream ends or breaks the protocol first", async () => {
    const ended = createContainer();
    ended.wire.socket.push(null);
    await expect(ended.channel.ready).rejects.toThrow("ended before the container was ready");
    const noisy = createContainer();
    noisy.wire.receive(Buffer.from("not a frame at all"));
    await expect(noisy.channel.ready).rejects.toThrow("attach stream");
  });

  it("keeps what an OCI runtime writes beside the frames, and not more than a little", async () => {
    const { channel, wire } = createContainer();
    wire.receive(encodeFrame(2, Buffer.from("exec format error".padEnd(5_000, "!"))));
    await settle();
    expect(channel.strayText()).toMatch(/^exec format error!+$/);
    expect(channel.strayText().length).toBe(512);
  });
});
