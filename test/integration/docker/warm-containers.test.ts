import { chown, mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import Docker from "dockerode";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { createColdContainers } from "../../../src/app/execute/cold-containers.js";
import { createWarmContainers, type WarmContainers } from "../../../src/app/execute/warm-containers.js";
import type { ContainerPurpose, ReadyContainer } from "../../../src/ports/container-runtime.js";
import { benchRequest, createDockerBench, type DockerBench } from "../../support/docker-bench.js";
import { readTestEnvironment } from "../../support/environment.js";
import type { OwnedWorkspace } from "../../support/owned-workspace.js";
import { silentLog } from "../../support/silent-telemetry.js";
import { until } from "../../support/until.js";

const LIMIT_MS = 100_000;
const never = new AbortController().signal;

let bench: DockerBench;
let docker: Docker;
let workspace: OwnedWorkspace;
let warm: WarmContainers;
let draining: AbortController;
let counts: Map<string, number>;
beforeAll(async () => {
  bench = await createDockerBench();
  docker = new Docker({ socketPath: readTestEnvironment().dockerSocket });
});
afterAll(() => bench.close());
beforeEach(async () => {
  workspace = await bench.workspace();
  draining = new AbortController();
  counts = new Map();
  const metrics = {
    count(name: string, labels: Readonly<Record<string, string>> = {}) {
      const key = [name, ...Object.values(labels)].join(" ");
      counts.set(key, (counts.get(key) ?? 0) + 1);
    },
    observe() {},
    gauge() {},
  };
  const cold = createColdContainers({ runtime: bench.runtime, startsAtOnce: 4, log: silentLog, metrics });
  warm = createWarmContainers({
    cold,
    terms: { containers: 4, memoryBytes: 2 ** 40, maxAgeMs: 600_000, idleMs: 600_000 },
    lifetimeMs: 3_600_000,
    clock: { nowMs: () => Date.now() },
    later: (delayMs, work) => void setTimeout(work, delayMs),
    draining: draining.signal,
    metrics,
  });
});
afterEach(async () => {
  draining.abort();
  await warm.settled();
  expect(await bench.leftovers()).toEqual([]);
});

const purposeOf = (more: Partial<ContainerPurpose> = {}): ContainerPurpose => ({
  ...bench.purpose(workspace),
  ...more,
});

async function run(container: ReadyContainer, argv: readonly string[]) {
  const end = await container.run(benchRequest(argv), never);
  warm.dispose(container);
  const text = (bytes: Uint8Array) => Buffer.from(bytes).toString("utf8");
  return {
    exitCode: end.kind === "report" ? end.report.exitCode : end.detail,
    stdout: text(end.stdout.bytes),
    stderr: text(end.stderr.bytes),
  };
}

/** One command, cold, and then a container that waits for the next. */
async function warmUp(): Promise<void> {
  await run(await warm.acquire(purposeOf(), never), ["true"]);
  await until(async () => warm.waiting() > 0, LIMIT_MS);
}

async function waitingIds(): Promise<string[]> {
  const found = await docker.listContainers({
    all: true,
    filters: { label: [`bailiff.deployment=${bench.deploymentId}`] },
  });
  return found
    .filter(({ Labels }) => Labels["bailiff.command"] === undefined)
    .map((container) => container.Id);
}

/** Leaves a trace wherever a command can write, and fails where it should not have been able to try. */
const WRITE_EVERYWHERE = `
import ctypes, os, socket, subprocess, time
while not os.path.exists("go"): time.sleep(0.02)
mark = "trace-of-another"
libc = ctypes.CDLL(None, use_errno=True)
written = []
for path in ["/tmp", "/dev/shm", os.environ["HOME"], "/var/tmp", "/run", "/", "/etc", "/dev", "/proc/sys/kernel", "/workspace"]:
    try:
        with open(os.path.join(path, mark), "w") as out: out.write(mark)
        written.append(path)
    except OSError: pass
for path in ["/proc/sys/kernel/hostname", "/proc/self/oom_score_adj", "/proc/sys/kernel/shm_rmid_forced"]:
    try:
        with open(path, "w") as out: out.write("1000")
    except OSError: pass
if libc.shmget(4711, 4096, 0o1666) >= 0: written.append("shm")
if libc.msgget(4711, 0o1666) >= 0: written.append("msg")
if libc.semget(4711, 1, 0o1666) >= 0: written.append("sem")
libc.sethostname(b"changed", 7)
libc.syscall(248, b"user", b"trace", b"secret", 6, -4)
abstract = socket.socket(socket.AF_UNIX)
abstract.bind("\\0trace")
abstract.listen()
subprocess.Popen(["sleep", "3000"], start_new_session=True)
os.environ["TRACE"] = mark
print(" ".join(written))
`;

const LOOK_EVERYWHERE = `
import ctypes, os, socket
libc = ctypes.CDLL(None, use_errno=True)
found = []
for path in ["/tmp", "/dev/shm", os.environ["HOME"], "/var/tmp", "/run", "/", "/etc", "/dev"]:
    if "trace-of-another" in os.listdir(path): found.append(path)
for path in ["/tmp", "/dev/shm", os.environ["HOME"]]:
    found += [path + "/" + name for name in os.listdir(path)]
if libc.shmget(4711, 4096, 0) >= 0: found.append("shm")
if libc.msgget(4711, 0) >= 0: found.append("msg")
if libc.semget(4711, 1, 0) >= 0: found.append("sem")
if libc.syscall(249, b"user", b"trace", None, 0) >= 0: found.append("key")
if socket.gethostname() != "sandbox": found.append("hostname " + socket.gethostname())
try:
    socket.socket(socket.AF_UNIX).connect("\\0trace")
    found.append("abstract socket")
except OSError: pass
others = [pid for pid in os.listdir("/proc") if pid.isdigit() and int(pid) not in (1, os.getpid())]
if others: found.append("processes " + " ".join(others))
found += [name for name in os.environ if name not in ("HOME", "LANG", "PATH", "LC_CTYPE")]
print("found:", found)
print("workspace:", sorted(os.listdir("/workspace")))
`;

test("nothing of one command reaches the next, whose container was already there, but what it left in the workspace", async () => {
  await warmUp();
  const first = await warm.acquire(purposeOf(), never);
  expect(first.purpose.commandId).toBeNull();
  const writing = run(first, ["python3", "-c", WRITE_EVERYWHERE]);
  await until(async () => warm.waiting() > 0, LIMIT_MS);
  await writeFile(join(workspace.path, "go"), "");
  const wrote = await writing;
  expect(wrote).toMatchObject({ exitCode: 0, stderr: "" });
  expect(wrote.stdout.split(/\s/)).toEqual(expect.arrayContaining(["/tmp", "/dev/shm", "/workspace", "shm"]));

  const second = await warm.acquire(purposeOf(), never);
  expect(second.purpose.commandId).toBeNull();
  expect(second.containerId).not.toBe(first.containerId);
  expect(await run(second, ["python3", "-c", LOOK_EVERYWHERE])).toEqual({
    exitCode: 0,
    stdout: "found: []\nworkspace: ['go', 'trace-of-another']\n",
    stderr: "",
  });
  expect(counts.get("bailiff_warm_leases_total warm")).toBe(2);
});

test("another tenant's command never gets a container that waits, whatever else is the same", async () => {
  await warmUp();
  const waiting = await waitingIds();
  const other = await warm.acquire(purposeOf({ tenant: "tenant-b" }), never);
  expect(waiting).not.toContain(other.containerId);
  expect((await run(other, ["true"])).exitCode).toBe(0);
});

test("a workspace that was removed and made again is never reached through a container on the old one", async () => {
  await warmUp();
  await writeFile(join(workspace.path, "old"), "");
  const next = `${workspace.path}-next`;
  await mkdir(next);
  await rm(workspace.path, { recursive: true });
  await rename(next, workspace.path);
  await chown(workspace.path, workspace.uid, workspace.gid);
  await writeFile(join(workspace.path, "new"), "");
  const container = await warm.acquire(purposeOf({ workspaceIdentity: "another" }), never);
  expect((await run(container, ["ls"])).stdout).toBe("new\n");
});

test.each([
  ["killed", (id: string) => docker.getContainer(id).kill()],
  ["paused", (id: string) => docker.getContainer(id).pause()],
  ["removed", (id: string) => docker.getContainer(id).remove({ force: true })],
] as const)(
  "a waiting container that was %s is skipped before dispatch, and the command runs once",
  async (_, harm) => {
    await warmUp();
    const harmed = await waitingIds();
    for (const id of harmed) await harm(id);
    const container = await warm.acquire(purposeOf(), never);
    expect(harmed).not.toContain(container.containerId);
    expect((await run(container, ["sh", "-c", "echo ran >> ledger; cat ledger"])).stdout).toBe("ran\n");
  },
);
