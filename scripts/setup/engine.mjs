import { spawn } from "node:child_process";
import { open, readFile, rm, stat } from "node:fs/promises";
import { request } from "node:http";
import { capture, findProgram } from "./command.mjs";
import { readLiveProcess } from "./live-process.mjs";
import { statePath } from "./paths.mjs";
import { SetupError } from "./setup-error.mjs";

/** Where this machine's engine listens when nothing else is said. */
const systemEngine = {
  socket: "/var/run/docker.sock",
  pidFile: "/var/run/docker.pid",
  containerdPidFile: "/var/run/docker/containerd/containerd.pid",
  logFile: statePath("dockerd.log"),
  /** More arguments for dockerd, for an engine beside the machine's own. */
  extraArguments: [],
};

/** How dockerd is tried, in this order: as its package means it, then with ever less asked of the kernel. */
const attempts = [
  { name: "defaults", arguments: [] },
  { name: "no bridge network", arguments: ["--iptables=false", "--ip6tables=false", "--bridge=none"] },
  {
    name: "no bridge network, plain directories for images",
    arguments: ["--iptables=false", "--ip6tables=false", "--bridge=none", "--storage-driver=vfs"],
  },
];

/** True where an engine answers, so that none has to be installed or started. */
export async function engineAnswers() {
  return (await findEngine()) !== undefined;
}

/**
 * Finds an engine that answers, at DOCKER_HOST or the system's socket, or starts dockerd by hand.
 * @returns the engine's address in the form of DOCKER_HOST.
 */
export async function ensureEngine(progress) {
  const found = await findEngine();
  if (found) {
    progress.ready("Docker engine", found);
    return found;
  }
  return progress.step("Docker engine: starting it", "about 10 s", () => startEngine(systemEngine, progress));
}

/** Starts dockerd in a process group of its own, which stays when this process ends. */
async function startEngine(engine, progress) {
  const dockerd = await findProgram("dockerd");
  if (!dockerd) {
    throw new SetupError(
      "No Docker engine answers, and dockerd is not installed.",
      "Install it (Debian package docker.io), or set DOCKER_HOST to an engine on this machine.",
    );
  }
  if (process.getuid?.() !== 0) {
    throw new SetupError(
      "No Docker engine answers, and only root may start one.",
      "Start it once (sudo systemctl start docker), make sure that your user is in the group docker, then start again.",
    );
  }
  if (engine === systemEngine && (await startService(engine))) return `unix://${engine.socket}`;
  await removeStalePid(engine.pidFile, "dockerd");
  await removeStalePid(engine.containerdPidFile, "containerd");
  for (const attempt of attempts) {
    if (await startByHand(dockerd, engine, attempt)) {
      if (attempt !== attempts[0]) progress.note(`dockerd works with: ${attempt.name}`);
      return `unix://${engine.socket}`;
    }
  }
  throw new SetupError(
    "dockerd does not start on this machine.",
    `The end of ${engine.logFile}:\n${await tail(engine.logFile, 15)}`,
  );
}

async function findEngine() {
  const named = process.env.DOCKER_HOST;
  if (named) {
    if (await answers(named)) return named;
    throw new SetupError(
      `The engine named by DOCKER_HOST (${named}) does not answer.`,
      "Start that engine, or unset DOCKER_HOST so that one of this machine is used.",
    );
  }
  const address = `unix://${systemEngine.socket}`;
  if (await answers(address)) return address;
  // One that was started a moment ago may still be loading.
  const startingPid = await livePid(systemEngine.pidFile, "dockerd");
  if (startingPid !== undefined && (await waitFor(() => answers(address), 30_000))) return address;
  const refused = await stat(systemEngine.socket).catch(() => undefined);
  if (refused && process.getuid?.() !== 0 && (await ping(systemEngine.socket)) === "EACCES") {
    throw new SetupError(
      `This user may not use the Docker engine at ${systemEngine.socket}.`,
      "Add the user to the group docker (sudo usermod -aG docker $USER, then log in again), or run as root.",
    );
  }
  return undefined;
}

async function answers(address) {
  if (address.startsWith("unix://")) return (await ping(address.slice("unix://".length))) === "OK";
  const version = await capture("docker", ["--host", address, "version", "--format", "{{.Server.Version}}"], {
    timeoutMs: 15_000,
  });
  return version.code === 0;
}

/** "OK" where the engine answers, else the error's code. */
function ping(socketPath) {
  return new Promise((resolve) => {
    const asked = request({ socketPath, path: "/_ping", timeout: 5_000 }, (response) => {
      response.resume();
      response.on("end", () => resolve(response.statusCode === 200 ? "OK" : `HTTP ${response.statusCode}`));
    });
    asked.on("timeout", () => asked.destroy(new Error("no answer")));
    asked.on("error", (error) => resolve(error.code ?? error.message));
    asked.end();
  });
}

/** On a machine that systemd runs, the package's own service is the better way. */
async function startService(engine) {
  if (!(await stat("/run/systemd/system").catch(() => undefined))) return false;
  const started = await capture("systemctl", ["start", "docker.service"], { timeoutMs: 60_000 });
  return started.code === 0 && (await waitFor(async () => (await ping(engine.socket)) === "OK", 30_000));
}

async function startByHand(dockerd, engine, attempt) {
  const log = await open(engine.logFile, "w");
  try {
    const child = spawn(
      dockerd,
      [
        `--host=unix://${engine.socket}`,
        `--pidfile=${engine.pidFile}`,
        ...engine.extraArguments,
        ...attempt.arguments,
      ],
      { detached: true, stdio: ["ignore", log.fd, log.fd], cwd: "/" },
    );
    let ended = false;
    child.on("error", () => {
      ended = true;
    });
    child.on("exit", () => {
      ended = true;
    });
    child.unref();
    const up = await waitFor(async () => ended || (await ping(engine.socket)) === "OK", 60_000);
    if (up && !ended) return true;
    // This attempt must not stand in the way of the next one.
    if (!ended) {
      child.kill("SIGTERM");
      if (!(await waitFor(async () => ended, 15_000))) child.kill("SIGKILL");
    }
    return false;
  } finally {
    await log.close();
  }
}

async function removeStalePid(path, program) {
  if ((await livePid(path, program)) === undefined) await rm(path, { force: true });
}

/** The process id in a pid file, if a process with that program's name has it; a recycled id doesn't count. */
async function livePid(path, program) {
  const pid = Number.parseInt(await readFile(path, "utf8").catch(() => ""), 10);
  if (!Number.isInteger(pid)) return undefined;
  return (await readLiveProcess(pid))?.name === program ? pid : undefined;
}

async function waitFor(condition, timeoutMs) {
  const deadlineMs = Date.now() + timeoutMs;
  while (Date.now() < deadlineMs) {
    if (await condition()) return true;
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
  return false;
}

/** The last lines of dockerd's log that tell something: without its chatter about connections it makes to itself. */
async function tail(path, lines) {
  const all = (await readFile(path, "utf8").catch(() => "")).trim().split("\n");
  return all
    .filter((line) => !/level=(debug|info)|\[core\]/.test(line))
    .slice(-lines)
    .join("\n");
}
