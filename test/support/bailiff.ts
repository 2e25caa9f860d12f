import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createApiKey } from "../../src/adapters/auth/api-key.js";
import { addKey } from "../../src/adapters/auth/keys-file.js";
import { createRandomIdSource } from "../../src/adapters/system/random-id-source.js";
import { createSystemClock } from "../../src/adapters/system/system-clock.js";
import type { Scope } from "../../src/ports/authenticator.js";
import { removeContainersOf } from "./engine-containers.js";
import { readTestEnvironment } from "./environment.js";

/** The built command line. */
export const CLI = fileURLToPath(new URL("../../dist/main/cli.js", import.meta.url));
const READY_LIMIT_MS = 120_000;

/** One answer of the API. `body` is parsed JSON, or null where there is none. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads members of answers whose shape it asserts.
  readonly body: any;
}

/** A place for one installation: configuration, keys, workspaces. Several processes may run in it. */
export interface Installation {
  readonly directory: string;
  readonly workspacesRoot: string;
  readonly deployment: string;
  /** Makes a key of a tenant and returns its text. */
  key(tenant: string, scopes?: readonly Scope[], principal?: string): Promise<string>;
  /** Starts one process and resolves once it is ready (`api`, `all`) or takes commands (`worker`). */
  start(
    role: "api" | "worker" | "all",
    settings?: Record<string, unknown>,
    /** The arguments of Node.js in place of the CLI's; such a process gets an IPC channel. */
    command?: (configPath: string) => readonly string[],
  ): Promise<BailiffProcess>;
  /** Kills what still runs and removes everything. */
  remove(): Promise<void>;
}

/** One running process. */
export interface BailiffProcess {
  readonly url: string;
  readonly child: ChildProcess;
  call(
    key: string,
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Answer>;
  /** SIGTERM, then its exit status. */
  stop(): Promise<number | null>;
  /** SIGKILL, then its end. */
  kill(): Promise<void>;
  log(): Promise<string>;
}

/** Merges settings one level deep. */
function merged(base: Record<string, unknown>, more: Record<string, unknown>): Record<string, unknown> {
  const result = { ...base };
  for (const [name, value] of Object.entries(more)) {
    const old = result[name];
    result[name] =
      typeof old === "object" &&
      old !== null &&
      typeof value === "object" &&
      value !== null &&
      !Array.isArray(value)
        ? { ...old, ...value }
        : value;
  }
  return result;
}

/** A new installation in a temporary directory, with its own deployment name. */
export async function createInstallation(settings: Record<string, unknown> = {}): Promise<Installation> {
  const environment = readTestEnvironment();
  const directory = await mkdtemp(join(tmpdir(), "bailiff-e2e-"));
  // The runner uid has to reach its workspace through it.
  await chmod(directory, 0o755);
  const workspacesRoot = join(directory, "workspaces");
  const deployment = `e2e-${directory
    .slice(-6)
    .toLowerCase()
    .replace(/[^a-z0-9]/g, "0")}`;
  const keysFile = join(directory, "keys.yaml");
  const ids = createRandomIdSource(createSystemClock());
  const running: BailiffProcess[] = [];
  const base = {
    deployment,
    data_dir: directory,
    init_path: environment.initPath,
    server: { port: 0 },
    docker: { host: `unix://${environment.dockerSocket}` },
    images: { default: environment.sandboxImageId },
    auth: { keys_file: keysFile },
    ...settings,
  };
  let count = 0;

  const addKeyFor = async (
    tenant: string,
    scopes: readonly Scope[],
    principal = `${tenant}-person`,
  ): Promise<string> => {
    const { text, record } = createApiKey({
      id: ids.next("key"),
      tenant,
      principal,
      scopes,
      nowMs: Date.now(),
      expiresAtMs: null,
    });
    await addKey(keysFile, record);
    return text;
  };
  await addKeyFor("nobody", ["policy:read"]);

  return {
    directory,
    workspacesRoot,
    deployment,
    key: (tenant, scopes = ["admin"], principal) => addKeyFor(tenant, scopes, principal),
    async start(role, more = {}, command) {
      count += 1;
      const configPath = join(directory, `config-${count}.yaml`);
      const logPath = join(directory, `log-${count}.jsonl`);
      await writeFile(configPath, JSON.stringify(merged(base, more)));
      const args = command?.(configPath) ?? [CLI, role, "--config", configPath];
      const child = spawn(process.execPath, args, {
        stdio: command === undefined ? ["ignore", "pipe", "pipe"] : ["ignore", "pipe", "pipe", "ipc"],
        env: { PATH: process.env["PATH"] },
      });
      let text = "";
      const keep = (chunk: Buffer) => {
        text += chunk.toString();
      };
      child.stdout?.on("data", keep);
      child.stderr?.on("data", keep);
      const exited = once(child, "exit");
      const found = await waitForLine(
        () => text,
        role === "worker" ? /"worker takes commands"/ : /"url":"(http:[^"]+)"/,
        exited,
      );
      const url = found[1] ?? "";
      const started: BailiffProcess = {
        url,
        child,
        async call(key, method, path, body, headers = {}) {
          const response = await fetch(`${url}${path}`, {
            method,
            headers: {
              authorization: `Bearer ${key}`,
              ...(body === undefined ? {} : { "content-type": "application/json" }),
              ...headers,
            },
            ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
          });
          const answer = await response.text();
          const isJson = (response.headers.get("content-type") ?? "").includes("json");
          return {
            status: response.status,
            headers: response.headers,
            body: isJson ? JSON.parse(answer) : answer,
          };
        },
        async stop() {
          if (child.exitCode === null && child.signalCode === null) child.kill("SIGTERM");
          else return child.exitCode;
          const [code] = await exited;
          return code;
        },
        async kill() {
          if (child.exitCode !== null || child.signalCode !== null) return;
          child.kill("SIGKILL");
          await exited;
        },
        log: async () => text,
      };
      running.push(started);
      return started;

      async function waitForLine(
        read: () => string,
        pattern: RegExp,
        end: Promise<unknown>,
      ): Promise<RegExpExecArray> {
        let ended = false;
        void end.then(() => {
          ended = true;
        });
        const untilMs = Date.now() + READY_LIMIT_MS;
        for (;;) {
          const match = pattern.exec(read());
          if (match !== null) return match;
          if (ended || Date.now() > untilMs) {
            child.kill("SIGKILL");
            await writeFile(logPath, read());
            throw new Error(`bailiff ${role} did not start:\n${read().slice(-4_000)}`);
          }
          await new Promise((resolve) => setTimeout(resolve, 25));
        }
      }
    },
    async remove() {
      for (const each of running) await each.kill();
      await endPrivateRedis(directory);
      // What a killed process left would go on writing to what is removed here.
      await removeContainersOf(deployment);
      await rm(directory, { recursive: true, force: true, maxRetries: 3, retryDelay: 200 });
    },
  };
}

/** A killed `bailiff all` leaves its redis-server; nobody else would end it here. */
async function endPrivateRedis(directory: string): Promise<void> {
  const text = await readFile(join(directory, "redis", "bailiff-redis.json"), "utf8").catch(() => "{}");
  const { pid } = JSON.parse(text) as { pid?: number };
  if (pid === undefined) return;
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It had ended with its parent.
  }
}

/** A tenant with a key, a workspace and a session, and the way to run a command in it. */
export interface Agent {
  readonly key: string;
  readonly sessionId: string;
  /** The workspace as this machine sees it. */
  readonly directory: string;
  submit(
    argv: readonly string[],
    more?: Record<string, unknown>,
    headers?: Record<string, string>,
  ): Promise<Answer>;
}

/** Opens a session for a tenant; `grant` as on the wire. Every ask is allowed unless the grant says otherwise. */
export async function openAgent(
  installation: Installation,
  api: BailiffProcess,
  options: { tenant?: string; workspace?: string; profile?: string; grant?: Record<string, unknown> } = {},
): Promise<Agent> {
  const tenant = options.tenant ?? "acme";
  const workspace = options.workspace ?? "main";
  const key = await installation.key(tenant);
  const put = await api.call(key, "PUT", `/v1/workspaces/${workspace}`);
  if (put.status >= 300) throw new Error(`workspace: ${JSON.stringify(put.body)}`);
  const session = await api.call(key, "POST", "/v1/sessions", {
    workspace_id: workspace,
    ...(options.profile === undefined ? {} : { profile: options.profile }),
    grant: options.grant ?? { level: "allow_all" },
  });
  if (session.status !== 201) throw new Error(`session: ${JSON.stringify(session.body)}`);
  const sessionId: string = session.body.session_id;
  return {
    key,
    sessionId,
    directory: join(installation.workspacesRoot, tenant, workspace),
    submit: (argv, more = {}, headers = { prefer: "wait=60" }) =>
      api.call(key, "POST", `/v1/sessions/${sessionId}/commands`, { argv, ...more }, headers),
  };
}
