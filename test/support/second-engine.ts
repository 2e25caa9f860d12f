import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, open, readFile, rm, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Docker from "dockerode";
import { readTestEnvironment } from "./environment.js";
import { until } from "./until.js";

/** A dockerd of a test's own, beside the machine's, which a test may restart. Needs root and dockerd. */
export interface SecondEngine {
  readonly socketPath: string;
  readonly docker: Docker;
  /** SIGTERM and start, or SIGKILL and start. */
  restart(signal: "SIGTERM" | "SIGKILL"): Promise<void>;
  stop(): Promise<void>;
}

/** Starts an engine with its own socket, state and images, and gives it the sandbox image. */
export async function startSecondEngine(options: {
  readonly liveRestore: boolean;
  /** OCI runtimes beside its own, as its configuration file names them. */
  readonly runtimes?: Readonly<
    Record<string, { readonly path: string; readonly runtimeArgs: readonly string[] }>
  >;
}): Promise<SecondEngine> {
  const directory = await mkdtemp(join(tmpdir(), "bailiff-dockerd-"));
  const socketPath = join(directory, "docker.sock");
  const configPath = join(directory, "daemon.json");
  await writeFile(configPath, JSON.stringify({ runtimes: options.runtimes ?? {} }));
  const args = [
    `--config-file=${configPath}`,
    `--host=unix://${socketPath}`,
    `--data-root=${join(directory, "data")}`,
    `--exec-root=${join(directory, "exec")}`,
    `--pidfile=${join(directory, "docker.pid")}`,
    // An engine beside another may not touch the host's network, nor need it: commands have none.
    "--iptables=false",
    "--ip6tables=false",
    "--bridge=none",
    ...(options.liveRestore ? ["--live-restore"] : []),
  ];
  const docker = new Docker({ socketPath });
  let child: ChildProcess | null = null;

  const start = async () => {
    const log = await open(join(directory, "dockerd.log"), "a");
    child = spawn("dockerd", args, { stdio: ["ignore", log.fd, log.fd], cwd: "/" });
    await log.close();
    const started = child;
    const killWithParent = () => started.kill("SIGTERM");
    process.once("exit", killWithParent);
    started.once("exit", () => process.off("exit", killWithParent));
    await until(async () => {
      if (started.exitCode !== null || started.signalCode !== null)
        throw new Error(`dockerd ended: ${directory}`);
      return answers(socketPath);
    }, 90_000);
  };
  const end = async (signal: "SIGTERM" | "SIGKILL") => {
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill(signal);
    await ended;
  };

  await start();
  await copyImage(docker);
  return {
    socketPath,
    docker,
    async restart(signal) {
      await end(signal);
      await forgetContainerd(directory);
      await rm(join(directory, "docker.pid"), { force: true });
      await start();
    },
    async stop() {
      for (const { Id } of await docker.listContainers({ all: true }).catch(() => [])) {
        await docker
          .getContainer(Id)
          .remove({ force: true })
          .catch(() => undefined);
      }
      await end("SIGTERM");
      await unmountBelow(directory);
      await rm(directory, { recursive: true, force: true, maxRetries: 3, retryDelay: 300 });
    },
  };
}

/** A containerd that died with its dockerd leaves a process id, which the next dockerd would wait for. */
async function forgetContainerd(directory: string): Promise<void> {
  const pidPath = join(directory, "exec", "containerd", "containerd.pid");
  const pid = await readFile(pidPath, "utf8").catch(() => "");
  if (pid === "") return;
  await until(async () => {
    const name = await readFile(`/proc/${pid.trim()}/comm`, "utf8").catch(() => "");
    return name.trim() !== "containerd";
  });
  await rm(pidPath, { force: true });
}

/** With live-restore an engine leaves its mounts when it ends. */
async function unmountBelow(directory: string): Promise<void> {
  const mounts = (await readFile("/proc/self/mounts", "utf8"))
    .split("\n")
    .map((line) => line.split(" ")[1] ?? "")
    .filter((path) => path.startsWith(`${directory}/`));
  for (const path of mounts.reverse()) {
    await once(spawn("umount", ["-l", path], { stdio: "ignore" }), "exit");
  }
}

/** From the machine's engine; the image's id stays the same. */
async function copyImage(target: Docker): Promise<void> {
  const { dockerSocket, sandboxImageId } = readTestEnvironment();
  const saved = await new Docker({ socketPath: dockerSocket }).getImage(sandboxImageId).get();
  const answer = await target.loadImage(saved as NodeJS.ReadableStream);
  answer.resume();
  await once(answer, "end");
}

function answers(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const asked = request({ socketPath, path: "/_ping", timeout: 2_000 }, (response) => {
      response.resume();
      response.on("end", () => resolve(response.statusCode === 200));
    });
    asked.on("timeout", () => asked.destroy());
    asked.on("error", () => resolve(false));
    asked.end();
  });
}
