import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, chown, copyFile, mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { Redis } from "ioredis";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readTestEnvironment } from "../../support/environment.js";
import { installHelmTools } from "../../support/helm/helm-tools.js";
import { CHART, NEW_KUBERNETES, renderChart } from "../../support/helm/rendered-chart.js";
import { findFreePort } from "../../support/redis-server.js";
import { until } from "../../support/until.js";

const run = promisify(execFile);

let directory: string;
let started: { readonly child: ChildProcess; readonly stderr: () => string } | null;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "bailiff-chart-"));
  started = null;
});

afterEach(async () => {
  await stop();
  await rm(directory, { recursive: true, force: true, maxRetries: 5, retryDelay: 300 });
});

function start(script: string, env: Readonly<Record<string, string>>) {
  return startProgram("/bin/sh", [join(CHART, "files", script)], env);
}

/** Starts a script as a container of the chart does. */
async function startNode(script: string, ...args: readonly string[]) {
  const text = await readFile(join(CHART, "files", script), "utf8");
  return startProgram(process.execPath, ["--input-type=module", "--eval", text, ...args]);
}

function startProgram(program: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const child = spawn(program, args, {
    env: { PATH: process.env["PATH"], ...env },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let stderr = "";
  child.stderr?.on("data", (chunk: Buffer) => {
    stderr += chunk.toString("utf8");
  });
  started = { child, stderr: () => stderr };
  return started;
}

const isOver = (child: ChildProcess) => child.exitCode !== null || child.signalCode !== null;

async function stop(): Promise<number | null> {
  if (started === null) return null;
  const { child } = started;
  if (!isOver(child)) {
    const ended = once(child, "exit");
    child.kill("SIGTERM");
    await ended;
  }
  return child.exitCode;
}

/** What the chart gives a script in a ConfigMap. */
async function fromChart(name: string, key: string): Promise<string> {
  const { objects } = await renderChart(
    await installHelmTools(),
    "helm4",
    "minimal-values.yaml",
    NEW_KUBERNETES,
  );
  return (
    objects.find(({ kind, metadata }) => kind === "ConfigMap" && metadata.name === name)?.data?.[key] ?? ""
  );
}

describe("the engine's script", () => {
  /** A tree of cgroup v2 as a privileged container sees it: the tests' own machine may have another. */
  async function cgroupTree(): Promise<string> {
    const own = /^0::(.*)$/m.exec(await readFile("/proc/self/cgroup", "utf8"))?.[1] ?? "/";
    const base = join(directory, "cgroup", own);
    await mkdir(base, { recursive: true });
    await writeFile(join(base, "cgroup.controllers"), "cpuset cpu io memory pids\n");
    await writeFile(join(base, "cgroup.procs"), "4711\n");
    return base;
  }

  async function environment(): Promise<Record<string, string>> {
    const daemon = JSON.parse(await fromChart("release-bailiff-engine", "daemon-default.json")) as object;
    const config = join(directory, "daemon.json");
    await writeFile(config, JSON.stringify({ ...daemon, "data-root": join(directory, "data") }));
    const workspaces = join(directory, "workspaces");
    await mkdir(join(workspaces, "lost+found"), { recursive: true });
    await mkdir(join(directory, "engine"));
    return {
      ENGINE_DIRECTORY: join(directory, "engine"),
      ENGINE_SOCKET_GID: "10002",
      ENGINE_DAEMON_CONFIG: config,
      ENGINE_CGROUP_ROOT: join(directory, "cgroup"),
      ENGINE_WORKSPACES: workspaces,
      ENGINE_RUNNER: "10001:10001",
      ENGINE_START_LIMIT_S: "90",
      ENGINE_MORE_OPTIONS: `--exec-root=${join(directory, "exec")} --pidfile=${join(directory, "docker.pid")}`,
    };
  }

  /** An image of one file, as an archive; the machine's engine makes it and keeps nothing. */
  async function archiveOfImage(archives: string): Promise<string> {
    const { dockerSocket, initPath } = readTestEnvironment();
    const docker = (...args: string[]) => run("docker", ["--host", `unix://${dockerSocket}`, ...args]);
    await mkdir(archives);
    await copyFile(initPath, join(directory, "init"));
    await chmod(join(directory, "init"), 0o755);
    await run("tar", ["--create", "--file", join(directory, "root.tar"), "--directory", directory, "init"]);
    const { stdout } = await docker("import", join(directory, "root.tar"));
    const image = stdout.trim();
    await docker("save", "--output", join(archives, "image.tar"), image);
    await docker("image", "rm", image);
    return image;
  }

  it("is ready with workspaces that are the runner's, a socket for its group, loaded images, and commands below its own cgroup", async () => {
    const base = await cgroupTree();
    const env = await environment();
    const archives = join(directory, "archives");
    const image = await archiveOfImage(archives);
    const { child, stderr } = start("engine.sh", { ...env, ENGINE_ARCHIVES: archives, ENGINE_IMAGES: image });
    const ready = join(directory, "engine", "ready");
    const isThere = (path: string) =>
      stat(path).then(
        () => true,
        () => false,
      );
    await until(async () => {
      if (isOver(child)) throw new Error(stderr());
      return isThere(ready);
    }, 90_000);

    const workspaces = await stat(join(directory, "workspaces"));
    expect([workspaces.uid, workspaces.gid, workspaces.mode & 0o7777]).toEqual([10001, 10001, 0o711]);
    const socket = join(directory, "engine", "docker.sock");
    expect((await stat(socket)).gid).toBe(10002);
    expect(await readFile(join(base, "cgroup.subtree_control"), "utf8")).toBe(
      "+cpuset +cpu +io +memory +pids\n",
    );
    expect(await readFile(join(base, "init", "cgroup.procs"), "utf8")).toBe("4711\n");

    const docker = async (...args: string[]) =>
      (await run("docker", ["--host", `unix://${socket}`, ...args])).stdout.trim();
    const container = await docker("create", "--interactive", "--network=none", "--entrypoint=/init", image);
    await docker("start", container);
    const pid = await docker("inspect", "--format", "{{.State.Pid}}", container);
    expect(await readFile(`/proc/${pid}/cgroup`, "utf8")).toContain(`/engine/${container}`);
    await docker("rm", "--force", container);

    expect(await stop(), stderr()).toBe(0);
    expect(await isThere(ready)).toBe(false);
  });

  it("ends, and its engine with it, where an image can be had from nowhere", async () => {
    await cgroupTree();
    const { child, stderr } = start("engine.sh", {
      ...(await environment()),
      ENGINE_IMAGES: `sha256:${"3".repeat(64)}`,
    });
    await once(child, "exit");
    expect(child.exitCode).toBe(1);
    expect(stderr()).toContain("is in no archive");
    const pid = await readFile(join(directory, "docker.pid"), "utf8").catch(() => "");
    await until(async () => pid === "" || (await readFile(`/proc/${pid}/comm`).catch(() => null)) === null);
  });

  it("refuses a directory with somebody's files, and a node without cgroup v2, before it starts anything", async () => {
    const env = await environment();
    const none = start("engine.sh", env);
    await once(none.child, "exit");
    expect([none.child.exitCode, none.stderr()]).toEqual([1, expect.stringContaining("no cgroup v2")]);

    await cgroupTree();
    const other = join(directory, "other");
    await mkdir(join(other, "acme"), { recursive: true });
    const full = start("engine.sh", { ...env, ENGINE_WORKSPACES: other });
    await once(full.child, "exit");
    expect([full.child.exitCode, full.stderr()]).toEqual([1, expect.stringContaining("holds files")]);
    expect((await stat(other)).uid).toBe(0);
  });
});

describe("Redis's script", () => {
  it("starts a Redis that asks for its password, keeps everything, and shows the password in no process list", async () => {
    const port = await findFreePort();
    const config = join(directory, "chart.conf");
    const own = `\nport ${port}\nbind 127.0.0.1\ndir ${directory}\n`;
    const text = await fromChart("release-bailiff-redis", "redis.conf");
    await writeFile(config, text.replace(/^dir .*$/m, "") + own);
    const { child, stderr } = start("redis.sh", {
      REDIS_PASSWORD: "a-Password_1",
      REDIS_CONFIG: config,
      REDIS_RUN: directory,
    });
    const redis = new Redis({ port, password: "a-Password_1", lazyConnect: true, retryStrategy: () => 100 });
    const stranger = new Redis({ port, lazyConnect: true, retryStrategy: () => null });
    redis.on("error", () => undefined);
    stranger.on("error", () => undefined);
    try {
      await until(async () => {
        if (isOver(child)) throw new Error(stderr());
        return (await redis.ping().catch(() => "")) === "PONG";
      });
      expect(await redis.config("GET", "maxmemory-policy")).toEqual(["maxmemory-policy", "noeviction"]);
      expect(await redis.config("GET", "appendonly")).toEqual(["appendonly", "yes"]);
      await expect(stranger.get("x")).rejects.toThrow(/NOAUTH/);
      expect(await readFile(`/proc/${child.pid}/cmdline`, "utf8")).not.toContain("a-Password_1");
      expect((await stat(join(directory, "redis.conf"))).mode & 0o077).toBe(0);
    } finally {
      redis.disconnect();
      stranger.disconnect();
    }
  });

  it("refuses a password that would be read otherwise in a URL or in Redis's configuration", async () => {
    for (const password of ["", "a b", "a@b", 'a"\nport 1']) {
      const { child, stderr } = start("redis.sh", { REDIS_PASSWORD: password, REDIS_RUN: directory });
      await once(child, "exit");
      expect([child.exitCode, stderr()]).toEqual([1, expect.stringContaining("letters, digits")]);
    }
  });
});

describe("the scripts of containers without a shell", () => {
  it("wait for a file, then run a program as if it had been called; ended while they wait, they are over", async () => {
    const ready = join(directory, "ready");
    const program = join(directory, "program");
    const heard = join(directory, "heard");
    await writeFile(program, 'require("fs").writeFileSync(process.argv[2], process.argv.slice(2).join());');
    const { child, stderr } = await startNode("wait.mjs", "there", ready, program, heard, "worker");
    await until(async () => stderr().includes("is not there yet"));
    expect(await stat(heard).catch(() => null)).toBeNull();
    await writeFile(ready, "");
    await once(child, "exit");
    expect(child.exitCode, stderr()).toBe(0);
    expect(await readFile(heard, "utf8")).toBe(`${heard},worker`);

    const other = await startNode("wait.mjs", "there", join(directory, "never"));
    await until(async () => other.stderr().includes("is not there yet"));
    expect(await stop()).toBe(143);
  });

  it("wait for a directory until it is this user's", async () => {
    await chown(directory, 10001, 10001);
    const { child, stderr } = await startNode("wait.mjs", "own", directory);
    await until(async () => stderr().includes("is not this user's yet"));
    await chown(directory, process.getuid?.() ?? 0, process.getgid?.() ?? 0);
    await once(child, "exit");
    expect(child.exitCode, stderr()).toBe(0);
  });

  it("put bailiff-init where the engine finds it, also where an older one is", async () => {
    const target = join(directory, "bailiff-init");
    await writeFile(target, "older", { mode: 0o555 });
    const { child, stderr } = await startNode("place-init.mjs", readTestEnvironment().initPath, target);
    await once(child, "exit");
    expect(child.exitCode, stderr()).toBe(0);
    expect((await stat(target)).mode & 0o7777).toBe(0o555);
    expect(await readFile(target)).toEqual(await readFile(readTestEnvironment().initPath));
  });
});
