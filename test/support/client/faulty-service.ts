import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** What happens to one request. */
export type Fault =
  /** It is done and answered. */
  | "answer"
  /** The connection breaks before anything was done. */
  | "drop"
  /** It is done, and the answer is lost. */
  | "lose"
  /** It is done, and the answer breaks in its middle. */
  | "half"
  | "overloaded"
  | "store_unavailable"
  | "rate_limited"
  /** A proxy answers in place of the service. */
  | "bad_gateway"
  | "denied"
  /** Nothing ever comes. */
  | "silent";

/** One request as the service saw it. */
export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: unknown;
  readonly atMs: number;
}

/** A small service over real HTTP that keeps idempotency keys as the real one does, and fails as it is told. */
export interface FaultyService {
  readonly url: string;
  readonly seen: SeenRequest[];
  /** The commands that were admitted, by id. */
  readonly commands: Map<string, Record<string, unknown>>;
  /** One fault for each request to come; `answer` when there are no more. */
  faults: Fault[];
  /** Answers for one kind of request, `GET /path`, in place of the service's own. */
  readonly scripted: Map<string, (request: SeenRequest, response: ServerResponse) => void>;
  /** The `Retry-After` of refusals. */
  retryAfter: string;
  close(): Promise<void>;
}

const PROBLEM_STATUS = { overloaded: 503, store_unavailable: 503, rate_limited: 429, denied: 403 } as const;

/** A completed command. */
export function completedCommand(id: string, more: Record<string, unknown> = {}) {
  return {
    command_id: id,
    state: "finished",
    outcome: "completed",
    effect: "completed",
    returncode: 0,
    signal: null,
    stdout: "",
    stderr: "",
    result_omitted: false,
    ...more,
  };
}

/** Starts one. */
export async function startFaultyService(): Promise<FaultyService> {
  const seen: SeenRequest[] = [];
  const commands = new Map<string, Record<string, unknown>>();
  const byKey = new Map<string, string>();
  const scripted: FaultyService["scripted"] = new Map();

  const work = (request: SeenRequest): unknown => {
    if (!(request.method === "POST" && request.path.endsWith("/commands"))) return { done: request.path };
    const key = request.headers["idempotency-key"];
    const known = typeof key === "string" ? byKey.get(key) : undefined;
    if (known !== undefined) return commands.get(known);
    const id = `cmd_${commands.size + 1}`;
    const command = completedCommand(id);
    commands.set(id, command);
    if (typeof key === "string") byKey.set(key, id);
    return command;
  };

  const server = createServer((incoming, response) => {
    let text = "";
    incoming.on("data", (chunk) => {
      text += chunk;
    });
    incoming.on("end", () => {
      const request: SeenRequest = {
        method: incoming.method ?? "",
        path: (incoming.url ?? "").split("?")[0] ?? "",
        headers: incoming.headers,
        body: text === "" ? null : JSON.parse(text),
        atMs: performance.now(),
      };
      seen.push(request);
      const fault = service.faults.shift() ?? "answer";
      const script = scripted.get(`${request.method} ${request.path}`);
      if (fault === "silent") return;
      if (fault === "drop") return void incoming.socket.destroy();
      if (fault === "bad_gateway") return void response.writeHead(502).end("<html>");
      if (fault in PROBLEM_STATUS) {
        const status = PROBLEM_STATUS[fault as keyof typeof PROBLEM_STATUS];
        const headers = { "content-type": "application/problem+json", "retry-after": service.retryAfter };
        const problem = { code: fault, status, title: "t", detail: "d", type: "t", instance: "i" };
        response.writeHead(status, headers).end(JSON.stringify(problem));
        return;
      }
      if (script !== undefined) return script(request, response);
      const answer = JSON.stringify(work(request));
      if (fault === "lose") return void incoming.socket.destroy();
      response.writeHead(200, { "content-type": "application/json", "content-length": answer.length });
      if (fault === "half") response.write(answer.slice(0, 5), () => incoming.socket.destroy());
      else response.end(answer);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const service: FaultyService = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    commands,
    faults: [],
    scripted,
    retryAfter: "0",
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return service;
}
