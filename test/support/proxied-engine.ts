import { randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import { createServer, type IncomingMessage, request, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Duplex } from "node:stream";

/** Calls that a proxied engine can be told to answer never. */
export type ProxiedCall = "ping" | "create" | "attach" | "start" | "kill" | "remove" | "inspect" | "list";

/** What the proxy does with one kind of call: nothing at all, or pass it on and swallow the answer. */
export type Silence = "unsent" | "unanswered";

/** A Unix socket that speaks for the real engine, except where a test says otherwise. */
export interface ProxiedEngine {
  readonly socketPath: string;
  /** From now on. */
  silence(call: ProxiedCall, how: Silence): void;
  speak(): void;
  /** Changes the body of every create before it is passed on. */
  rewriteCreate(change: (body: string) => string): void;
  close(): Promise<void>;
}

function callOf(method: string, url: string): ProxiedCall | null {
  const path = url.split("?")[0]?.replace(/^\/v[\d.]+/, "") ?? "";
  if (path === "/_ping") return "ping";
  if (path === "/containers/create") return "create";
  if (path === "/containers/json") return "list";
  const of = /^\/containers\/[^/]+(?:\/(attach|start|kill|json))?$/.exec(path);
  if (of === null) return null;
  if (of[1] === undefined) return method === "DELETE" ? "remove" : null;
  return of[1] === "json" ? "inspect" : (of[1] as ProxiedCall);
}

/** Stands before the engine at `enginePath`. */
export async function createProxiedEngine(enginePath: string): Promise<ProxiedEngine> {
  const socketPath = join(tmpdir(), `bailiff-engine-${randomBytes(6).toString("hex")}.sock`);
  const silent = new Map<ProxiedCall, Silence>();
  const sockets = new Set<Duplex>();
  let change: (body: string) => string = (body) => body;

  const silenceOf = (incoming: IncomingMessage): Silence | undefined => {
    const call = callOf(incoming.method ?? "", incoming.url ?? "");
    return call === null ? undefined : silent.get(call);
  };
  const onward = (incoming: IncomingMessage, headers = incoming.headers) =>
    request({ socketPath: enginePath, method: incoming.method ?? "GET", path: incoming.url ?? "/", headers });

  const server: Server = createServer((incoming, answer) => {
    const silence = silenceOf(incoming);
    const parts: Buffer[] = [];
    incoming.on("data", (part: Buffer) => parts.push(part));
    incoming.on("end", () => {
      if (silence === "unsent") return;
      const raw = Buffer.concat(parts);
      const isCreate = callOf(incoming.method ?? "", incoming.url ?? "") === "create";
      const body = isCreate ? Buffer.from(change(raw.toString("utf8"))) : raw;
      const asked = onward(incoming, { ...incoming.headers, "content-length": String(body.length) });
      asked.on("response", (response) => {
        if (silence === "unanswered") {
          response.resume();
          return;
        }
        answer.writeHead(response.statusCode ?? 502, response.headers);
        response.pipe(answer);
      });
      asked.on("error", () => answer.destroy());
      asked.end(body);
    });
  });
  server.on("connection", (socket: Duplex) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  server.on("upgrade", (incoming, socket: Duplex, head: Buffer) => {
    socket.on("error", () => {});
    if (silenceOf(incoming) !== undefined) return;
    const asked = onward(incoming);
    asked.on("error", () => socket.destroy());
    asked.on("response", (response) => {
      socket.write(`HTTP/1.1 ${response.statusCode} X\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}`);
      response.resume();
      socket.end();
    });
    asked.on("upgrade", (_, engine: Duplex, engineHead: Buffer) => {
      socket.write("HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n");
      engine.on("error", () => socket.destroy());
      engine.on("close", () => socket.destroy());
      socket.on("close", () => engine.destroy());
      socket.write(engineHead);
      engine.write(head);
      engine.pipe(socket);
      socket.pipe(engine);
    });
    asked.end();
  });
  await new Promise<void>((resolve, reject) => {
    server.on("error", reject);
    server.listen(socketPath, resolve);
  });

  return {
    socketPath,
    silence(call, how) {
      silent.set(call, how);
    },
    speak() {
      silent.clear();
    },
    rewriteCreate(next) {
      change = next;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
      await rm(socketPath, { force: true });
    },
  };
}
