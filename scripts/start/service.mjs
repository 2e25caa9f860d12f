import { spawn } from "node:child_process";
import { mkdir, open, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { cliPath } from "../setup/build.mjs";
import { readLiveProcess } from "../setup/live-process.mjs";
import { SetupError } from "../setup/setup-error.mjs";

/** Refuses to start where this data directory is in use: two services must not share one private Redis. */
export async function refuseSecondService(dataDirectory) {
  const record = await readFile(join(dataDirectory, "service.json"), "utf8").then(
    JSON.parse,
    () => undefined,
  );
  if (!record) return;
  const running = await readLiveProcess(record.pid);
  if (running?.startedTicks !== record.startedTicks) return;
  throw new SetupError(
    `Bailiff already runs from this data directory: ${record.url}, process ${record.pid}.`,
    `Stop it (Ctrl-C where it was started, or kill ${record.pid}), or give this one its own: npm start -- --data-dir DIR`,
  );
}

/** The port asked for, else 8080 where it is free, else a free one. */
export async function choosePort(asked) {
  const wanted = asked ?? 8080;
  const free = await probePort(wanted);
  if (free !== undefined) return free;
  if (asked !== undefined) {
    throw new SetupError(`Port ${asked} is in use.`, "Give another one with --port N, or leave it out.");
  }
  return probePort(0);
}

/**
 * Starts `bailiff all` with its log in the data directory and resolves once it says that it is ready.
 * The service has a process group of its own, so that Ctrl-C reaches it once and through `stop` alone.
 */
export async function startService({ dataDirectory, configurationPath, port }) {
  await mkdir(dataDirectory, { recursive: true });
  const logPath = join(dataDirectory, "bailiff.log");
  const recordPath = join(dataDirectory, "service.json");
  const log = await open(logPath, "a");
  const child = spawn(process.execPath, [cliPath, "all", "--config", configurationPath], {
    stdio: ["ignore", log.fd, log.fd],
    detached: true,
  });
  await log.close();
  const ended = new Promise((resolve) => {
    child.on("error", (error) => resolve({ code: null, reason: error.message }));
    child.on("exit", (code, signal) => resolve({ code, reason: signal ?? `status ${code}` }));
  });
  const url = `http://127.0.0.1:${port}`;
  const stop = async () => {
    child.kill("SIGTERM");
    const deadline = new Promise((resolve) => setTimeout(resolve, 45_000, "late").unref());
    const how = await Promise.race([ended, deadline]);
    if (how === "late") child.kill("SIGKILL");
    await rm(recordPath, { force: true });
    return how === "late" ? { code: null, reason: "did not stop within 45 s" } : how;
  };
  if (child.pid !== undefined) {
    const startedTicks = (await readLiveProcess(child.pid))?.startedTicks;
    await writeFile(recordPath, JSON.stringify({ pid: child.pid, startedTicks, url }));
  }
  const failure = await waitUntilReady(url, ended);
  if (failure !== undefined) {
    await stop();
    const tail = (await readFile(logPath, "utf8")).trim().split("\n").slice(-15).join("\n");
    throw new SetupError(`Bailiff did not become ready: ${failure}`, `The end of ${logPath}:\n${tail}`);
  }
  return { url, logPath, ended, stop };
}

/** Undefined once /readyz answers 200, else why that won't happen. */
async function waitUntilReady(url, ended) {
  let over;
  ended.then((how) => {
    over = how;
  });
  let last = "no answer yet";
  const deadlineMs = Date.now() + 60_000;
  while (Date.now() < deadlineMs) {
    if (over) return `it ended with ${over.reason}`;
    try {
      const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(5_000) });
      const text = await response.text();
      if (response.status === 200) return undefined;
      last = text;
    } catch (error) {
      last = error.cause?.code ?? error.message;
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return `after 60 s /readyz says: ${last}`;
}

/** The port that a listener gets when it asks for `port`, or undefined where that one is taken. */
function probePort(port) {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(undefined));
    server.listen(port, "127.0.0.1", () => {
      const { port: assigned } = server.address();
      server.close(() => resolve(assigned));
    });
  });
}
