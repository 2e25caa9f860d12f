import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readTestEnvironment } from "./environment.js";

/** A private redis-server process of one test file; the test that started it stops it. */
export interface RedisServer {
  readonly host: "127.0.0.1";
  readonly port: number;
  readonly url: string;
  /** Where its append-only file lies. */
  readonly directory: string;
  /** Ends it in good order and removes its directory. Idempotent. */
  stop(): Promise<void>;
  /** Ends it with SIGKILL; the directory stays, for `restart`. */
  kill(): Promise<void>;
  /** Ends it in good order where it still is up, then starts it on the same port and directory. */
  restart(): Promise<void>;
  /** Stops its clock (SIGSTOP): connections stay open and nothing answers. */
  pause(): void;
  resume(): void;
}

/** Settings by their redis.conf names; they win over the defaults of `startRedisServer`. */
export type RedisSettings = Readonly<Record<string, string>>;

/** Starts a real redis-server on a free port of 127.0.0.1 and resolves once it answers PING. */
export async function startRedisServer(settings: RedisSettings = {}): Promise<RedisServer> {
  const { redisServerPath } = readTestEnvironment();
  const directory = await mkdtemp(join(tmpdir(), "bailiff-redis-"));
  const port = await findFreePort();
  const effective: Record<string, string> = {
    bind: "127.0.0.1",
    port: String(port),
    dir: directory,
    save: "",
    appendonly: "yes",
    appendfsync: "everysec",
    "maxmemory-policy": "noeviction",
    daemonize: "no",
    ...settings,
  };
  const args = Object.entries(effective).flatMap(([name, value]) => [`--${name}`, value]);
  let child = await launch(redisServerPath, args, port);
  let stopped = false;

  const end = async (signal: NodeJS.Signals) => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    // A stopped process doesn't see SIGTERM until it goes on.
    child.kill("SIGCONT");
    child.kill(signal);
    await ended;
  };

  return {
    host: "127.0.0.1",
    port,
    url: `redis://127.0.0.1:${port}`,
    directory,
    async stop() {
      if (stopped) return;
      stopped = true;
      await end("SIGTERM");
      await rm(directory, { recursive: true, force: true });
    },
    async kill() {
      await end("SIGKILL");
    },
    async restart() {
      await end("SIGTERM");
      child = await launch(redisServerPath, args, port);
    },
    pause() {
      child.kill("SIGSTOP");
    },
    resume() {
      child.kill("SIGCONT");
    },
  };
}

async function launch(program: string, args: readonly string[], port: number): Promise<ChildProcess> {
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
  let printed = "";
  const keep = (chunk: Buffer) => {
    printed = (printed + chunk.toString("utf8")).slice(-4_000);
  };
  child.stdout.on("data", keep);
  child.stderr.on("data", keep);
  const killWithParent = () => child.kill("SIGKILL");
  process.once("exit", killWithParent);
  child.once("exit", () => process.off("exit", killWithParent));
  const deadlineMs = Date.now() + 20_000;
  while (Date.now() < deadlineMs) {
    if (child.exitCode !== null || child.signalCode !== null) break;
    if (await answersPing(port)) return child;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  child.kill("SIGKILL");
  throw new Error(`redis-server did not start on port ${port}: ${printed}`);
}

function answersPing(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port, timeout: 1_000 });
    const finish = (answered: boolean) => {
      socket.destroy();
      resolve(answered);
    };
    socket.once("connect", () => socket.write("PING\r\n"));
    socket.once("data", (chunk) => finish(chunk.toString("latin1").startsWith("+PONG")));
    socket.once("error", () => finish(false));
    socket.once("timeout", () => finish(false));
    socket.once("close", () => finish(false));
  });
}

/** A port that was free a moment ago. */
export async function findFreePort(): Promise<number> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("No port was assigned");
  return address.port;
}
