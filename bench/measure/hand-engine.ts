import { once } from "node:events";
import { Agent, type IncomingMessage, request } from "node:http";
import type { Duplex } from "node:stream";

/** The Engine API by hand: nothing between the caller and the socket but one request and its answer. */
export interface HandEngine {
  create(spec: Readonly<Record<string, unknown>>): Promise<string>;
  /** The hijacked stream of both outputs. */
  attach(id: string): Promise<Duplex>;
  start(id: string): Promise<void>;
  /** Resolves with the exit code of the container's next exit; call before the start. */
  wait(id: string): Promise<number>;
  /** Kills it where it still runs. */
  remove(id: string): Promise<void>;
  /** Ids of all containers with this label. */
  list(label: string): Promise<string[]>;
  /** The container's files as a tar archive. */
  exportFiles(id: string): Promise<IncomingMessage>;
  version(): Promise<{ readonly Version: string; readonly ApiVersion: string }>;
  close(): void;
}

const CALL_LIMIT_MS = 120_000;

/** Connects at the first call, on connections that are kept. */
export function createHandEngine(socketPath: string): HandEngine {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });

  const send = async (method: string, path: string, body?: unknown): Promise<IncomingMessage> => {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const asked = request({
      socketPath,
      agent,
      method,
      path,
      timeout: CALL_LIMIT_MS,
      headers: text === undefined ? {} : { "content-type": "application/json" },
    });
    asked.on("timeout", () => asked.destroy(new Error(`${method} ${path}: the engine did not answer`)));
    asked.end(text);
    const [response] = (await once(asked, "response")) as [IncomingMessage];
    if ((response.statusCode ?? 500) >= 300)
      throw new Error(`${method} ${path}: ${response.statusCode} ${await textOf(response)}`);
    return response;
  };
  const json = async <T>(method: string, path: string, body?: unknown): Promise<T> =>
    JSON.parse((await textOf(await send(method, path, body))) || "null") as T;

  return {
    async create(spec) {
      return (await json<{ Id: string }>("POST", "/containers/create", spec)).Id;
    },
    async attach(id) {
      const asked = request({
        socketPath,
        method: "POST",
        path: `/containers/${id}/attach?stream=1&stdout=1&stderr=1`,
        headers: { connection: "Upgrade", upgrade: "tcp", "content-length": 0 },
      });
      asked.end();
      const [, socket] = (await once(asked, "upgrade")) as [IncomingMessage, Duplex];
      return socket;
    },
    async start(id) {
      await json("POST", `/containers/${id}/start`);
    },
    async wait(id) {
      const end = await json<{ StatusCode: number }>("POST", `/containers/${id}/wait?condition=next-exit`);
      return end.StatusCode;
    },
    async remove(id) {
      await json("DELETE", `/containers/${id}?force=1&v=1`);
    },
    async list(label) {
      const filters = encodeURIComponent(JSON.stringify({ label: [label] }));
      const found = await json<{ Id: string }[]>("GET", `/containers/json?all=1&filters=${filters}`);
      return found.map((container) => container.Id);
    },
    exportFiles: (id) => send("GET", `/containers/${id}/export`),
    version: () => json("GET", "/version"),
    close: () => agent.destroy(),
  };
}

async function textOf(response: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of response.setEncoding("utf8")) text += chunk;
  return text;
}
