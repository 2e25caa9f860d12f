import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, open, rm } from "node:fs/promises";
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
export async function startSecondEngine(options: { readonly liveRestore: boolean }): Promise<SecondEngine> {
  const directory = await mkdtemp(join(tmpdir(), "bailiff-dockerd-"));
  const socketPath = join(directory, "docker.sock");
  const args = [
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
      await rm(join(directory, "docker.pid"), { force: true });
      await start();
    },
    async stop() {
      for (const { Id } of await docker.listContainers({ all: true })) {
        await docker
          .getContainer(Id)
          .remove({ force: true })
          .catch(() => undefined);
      }
      await end("SIGTERM");
      await rm(directory, { recursive: true, force: true, maxRetries: 3, retryDelay: 300 });
    },
  };
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
