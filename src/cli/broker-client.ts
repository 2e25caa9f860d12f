import { z } from "zod";
import { commandSchema } from "../contract/commands.js";

// A newer service may answer with more members: the client reads the ones it knows.
const commandView = z.object(commandSchema.shape).pick({
  command_id: true,
  state: true,
  outcome: true,
  effect: true,
  returncode: true,
  signal: true,
  detail: true,
  start_failure: true,
  stdout: true,
  stderr: true,
  partial_output: true,
  stdout_truncated: true,
  stderr_truncated: true,
  stdout_truncated_by: true,
  stderr_truncated_by: true,
  result_omitted: true,
});

const problemView = z.object({
  code: z.string(),
  detail: z.string().optional(),
  title: z.string().optional(),
  command_id: z.string().optional(),
  errors: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
});

/** What the client reads of a command, and the whole answer for printing. */
export interface CommandView extends z.infer<typeof commandView> {
  readonly whole: unknown;
}

/** The service refused, or could not be reached (`code` null). */
export class BrokerRefusal extends Error {
  override readonly name = "BrokerRefusal";
  readonly code: string | null;
  readonly whole: unknown;
  constructor(message: string, code: string | null, whole: unknown, cause?: unknown) {
    super(message, { cause });
    this.code = code;
    this.whole = whole;
  }
}

/** The calls that running a command takes. Every method throws BrokerRefusal; an aborted one throws the abort. */
export interface BrokerClient {
  openSession(workspaceId: string, profile: string | null): Promise<string>;
  closeSession(sessionId: string): Promise<void>;
  /** Safe to repeat with the same key: the command is admitted once. */
  submit(
    sessionId: string,
    body: { readonly argv: readonly string[]; readonly timeout_s?: number },
    idempotencyKey: string,
    waitS: number,
    signal: AbortSignal,
  ): Promise<CommandView>;
  get(commandId: string, waitS: number, signal: AbortSignal): Promise<CommandView>;
  cancel(commandId: string): Promise<void>;
}

function refusalOf(status: number, body: unknown): BrokerRefusal {
  const problem = problemView.safeParse(body);
  if (!problem.success) return new BrokerRefusal(`the service answered with status ${status}`, null, body);
  const { code, detail, title, errors } = problem.data;
  const faults = (errors ?? []).map(({ path, message }) => `${path}: ${message}`);
  return new BrokerRefusal([detail ?? title ?? code, ...faults].join("; "), code, body);
}

/** A client of one service with one key. The key goes into one header and nowhere else. */
export function createBrokerClient(settings: {
  readonly url: string;
  readonly key: string;
  readonly fetch: typeof fetch;
}): BrokerClient {
  const call = async (
    method: string,
    path: string,
    more: { body?: unknown; headers?: Record<string, string>; signal?: AbortSignal } = {},
  ): Promise<unknown> => {
    const headers: Record<string, string> = { authorization: `Bearer ${settings.key}`, ...more.headers };
    if (more.body !== undefined) headers["content-type"] = "application/json";
    let response: Response;
    let text: string;
    try {
      response = await settings.fetch(new URL(path, settings.url), {
        method,
        headers,
        // SAFETY: a redirect would carry the key to another place.
        redirect: "error",
        ...(more.body === undefined ? {} : { body: JSON.stringify(more.body) }),
        ...(more.signal === undefined ? {} : { signal: more.signal }),
      });
      text = await response.text();
    } catch (error) {
      if (more.signal?.aborted) throw error;
      throw new BrokerRefusal(
        `the service at ${new URL(settings.url).origin} can't be reached`,
        null,
        null,
        error,
      );
    }
    const body = parseJson(text);
    if (!response.ok) throw refusalOf(response.status, body);
    return body;
  };
  const commandOf = (body: unknown): CommandView => {
    const view = commandView.safeParse(body);
    if (!view.success)
      throw new BrokerRefusal("the service answered with something else than a command", null, body);
    return { ...view.data, whole: body };
  };
  const id = encodeURIComponent;
  return {
    async openSession(workspaceId, profile) {
      const body = { workspace_id: workspaceId, ...(profile === null ? {} : { profile }) };
      const session = z
        .object({ session_id: z.string() })
        .safeParse(await call("POST", "/v1/sessions", { body }));
      if (!session.success)
        throw new BrokerRefusal("the service answered with something else than a session", null, null);
      return session.data.session_id;
    },
    async closeSession(sessionId) {
      await call("DELETE", `/v1/sessions/${id(sessionId)}`);
    },
    async submit(sessionId, body, idempotencyKey, waitS, signal) {
      const headers = { "idempotency-key": idempotencyKey, prefer: `wait=${waitS}` };
      return commandOf(
        await call("POST", `/v1/sessions/${id(sessionId)}/commands`, { body, headers, signal }),
      );
    },
    async get(commandId, waitS, signal) {
      return commandOf(await call("GET", `/v1/commands/${id(commandId)}?wait=${waitS}`, { signal }));
    },
    async cancel(commandId) {
      await call("POST", `/v1/commands/${id(commandId)}/cancel`);
    },
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
