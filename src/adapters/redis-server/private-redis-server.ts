import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdir, realpath, rm, writeFile } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import type { Log } from "../../ports/telemetry.js";
import { endLeftoverServer, PID_FILE } from "./leftover-server.js";

/** A redis-server child that only this process uses. */
export interface PrivateRedisServer {
  /** With its password: never to be logged. */
  readonly url: string;
  /** Ends it in good order, with everything on disk. Idempotent. */
  stop(): Promise<void>;
}

const START_LIMIT_MS = 30_000;
const STOP_LIMIT_MS = 10_000;
const PROGRAM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/**
 * Starts redis-server on a free port of 127.0.0.1 under a password of its own, with its append-only file in `directory`.
 * A server that an earlier process left behind on the directory is ended first; one that is in use is an error.
 * `onDeath` is called once when the server ends without having been stopped: there is no second attempt, as nobody
 * knows why it died and whether its data is whole.
 */
export async function startPrivateRedisServer(options: {
  readonly directory: string;
  /** A name to be found in the usual directories, or an absolute path. */
  readonly program: string;
  readonly log: Log;
  readonly onDeath: (message: string) => void;
}): Promise<PrivateRedisServer> {
  await mkdir(options.directory, { recursive: true, mode: 0o700 });
  const directory = await realpath(options.directory);
  await endLeftoverServer(directory, options.log);
  const port = await findFreePort();
  const password = randomBytes(24).toString("hex");
  // The configuration goes over stdin: on the command line every user of the machine could read the password.
  const child = spawn(options.program, ["-"], {
    cwd: directory,
    env: { PATH: PROGRAM_PATH },
    stdio: ["pipe", "pipe", "pipe"],
    // A group of its own: Ctrl-C must reach Bailiff alone, which still has results to write.
    detached: true,
  });
  const printed = keepTail(child);
  const failedToSpawn = new Promise<never>((_resolve, reject) => {
    child.once("error", (cause) =>
      reject(new Error(`redis-server could not be started: ${cause.message}`, { cause })),
    );
  });
  failedToSpawn.catch(() => undefined);
  child.stdin?.on("error", () => undefined);
  child.stdin?.end(configuration({ port, password, directory }));
  const killWithParent = () => child.kill("SIGTERM");
  process.once("exit", killWithParent);

  let isStopping = false;
  const stop = async () => {
    process.off("exit", killWithParent);
    if (isStopping) return;
    isStopping = true;
    await end(child);
    await rm(join(directory, PID_FILE), { force: true });
  };
  try {
    if (child.pid !== undefined) {
      await writeFile(join(directory, PID_FILE), JSON.stringify({ pid: child.pid, owner: process.pid }), {
        mode: 0o600,
      });
    }
    await Promise.race([failedToSpawn, untilReady(child, port, password, printed)]);
  } catch (error) {
    await stop();
    throw error;
  }
  child.once("exit", (code, signal) => {
    if (isStopping) return;
    options.onDeath(`the private redis-server ended by itself (${signal ?? `status ${code}`}): ${printed()}`);
  });
  if (child.exitCode !== null || child.signalCode !== null)
    throw new Error(`redis-server ended: ${printed()}`);
  options.log.info({ port, pid: child.pid }, "the private redis-server is up");
  return { url: `redis://:${password}@127.0.0.1:${port}/0`, stop };
}

function configuration(values: { port: number; password: string; directory: string }): string {
  return [
    "bind 127.0.0.1",
    `port ${values.port}`,
    "protected-mode yes",
    `requirepass ${values.password}`,
    `dir ${quoted(values.directory)}`,
    "daemonize no",
    "appendonly yes",
    "appendfsync everysec",
    'save ""',
    "maxmemory-policy noeviction",
    "loglevel warning",
    "",
  ].join("\n");
}

/** A word of redis.conf: quoted, with what would end it escaped. */
function quoted(text: string): string {
  return `"${text.replace(/[\\"]/g, "\\$&").replace(/\n/g, "\\n")}"`;
}

/** The end of what the child prints, for the message of a failure. */
function keepTail(child: ChildProcess): () => string {
  let tail = "";
  const keep = (chunk: Buffer) => {
    tail = (tail + chunk.toString("utf8")).slice(-2_000);
  };
  child.stdout?.on("data", keep);
  child.stderr?.on("data", keep);
  return () => tail.trim();
}

async function untilReady(
  child: ChildProcess,
  port: number,
  password: string,
  printed: () => string,
): Promise<void> {
  const deadlineMs = performance.now() + START_LIMIT_MS;
  while (performance.now() < deadlineMs) {
    if (child.exitCode !== null || child.signalCode !== null) {
      throw new Error(`redis-server ended while it started: ${printed()}`);
    }
    if (await answersPing(port, password)) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`redis-server was not ready within ${START_LIMIT_MS} ms: ${printed()}`);
}

function answersPing(port: number, password: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port, timeout: 1_000 });
    let received = "";
    const settle = (answered: boolean) => {
      socket.destroy();
      resolve(answered);
    };
    socket.once("connect", () => socket.write(`AUTH ${password}\r\nPING\r\n`));
    socket.on("data", (chunk) => {
      received += chunk.toString("latin1");
      if (received.includes("+PONG")) settle(true);
      else if (received.includes("-")) settle(false);
    });
    for (const event of ["error", "timeout", "close"]) socket.once(event, () => settle(false));
  });
}

async function end(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  const kill = setTimeout(() => child.kill("SIGKILL"), STOP_LIMIT_MS);
  await ended;
  clearTimeout(kill);
}

async function findFreePort(): Promise<number> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("no free port");
  return address.port;
}
