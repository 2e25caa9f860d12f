import { z } from "zod";
import { BailiffProblem, createBailiffClient, NoAnswer } from "../client/index.js";
import { type CallBounds, commandSchema, type SubmissionWire } from "../contract/commands.js";
import { type DecisionWire, decisionSchema } from "../contract/decisions.js";

// A newer service may answer with more members: the client reads the ones it knows.
const commandView = z.object(commandSchema.shape).pick({
  command_id: true,
  approval_id: true,
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

/** What the client reads of a command, and the whole answer for printing. */
export interface CommandView extends z.infer<typeof commandView> {
  readonly whole: unknown;
}

/** The service refused, or could not be reached (`code` null). */
export class BrokerRefusal extends Error {
  override readonly name = "BrokerRefusal";
  readonly code: string | null;
  readonly whole: unknown;
  /** Seconds after which the service asks to come back; null where it does not. */
  readonly retryAfterS: number | null;
  constructor(
    message: string,
    code: string | null,
    whole: unknown,
    more: { readonly cause?: unknown; readonly retryAfterS?: number | null } = {},
  ) {
    super(message, { cause: more.cause });
    this.code = code;
    this.whole = whole;
    this.retryAfterS = more.retryAfterS ?? null;
  }
}

/** The calls that the client commands take. Every method throws BrokerRefusal; an aborted one throws the abort. */
export interface BrokerClient {
  openSession(workspaceId: string, profile: string | null): Promise<string>;
  closeSession(sessionId: string): Promise<void>;
  /** Safe to repeat with the same key: the command is admitted once. */
  submit(
    sessionId: string,
    body: SubmissionWire,
    idempotencyKey: string,
    waitS: number,
    signal: AbortSignal,
  ): Promise<CommandView>;
  get(commandId: string, waitS: number, signal: AbortSignal): Promise<CommandView>;
  cancel(commandId: string): Promise<void>;
  /** Any other call; the answer's body, null where it has none. */
  call(method: string, path: string, body?: unknown): Promise<unknown>;
  /** The id of a session's newest command; null where it has none. */
  newest(sessionId: string): Promise<string | null>;
  /** Moves a session; its new current directory. */
  setCwd(sessionId: string, path: string): Promise<string>;
  explain(sessionId: string, body: SubmissionWire): Promise<DecisionWire>;
  /** What the service takes, from the document that describes it. */
  bounds(): Promise<CallBounds>;
}

const bounded = z.object({ default: z.number(), maximum: z.number() });
// A newer service may say more of a submission: these are the parts that a caller of this client can set.
const openapiView = z.object({
  paths: z.object({
    "/v1/sessions/{id}/commands": z.object({
      post: z.object({
        requestBody: z.object({
          content: z.object({
            "application/json": z.object({
              schema: z.object({ properties: z.object({ timeout_s: bounded, max_stdout_chars: bounded }) }),
            }),
          }),
        }),
      }),
    }),
  }),
});

/** Runs one call. Whatever the service refused, or did not answer, becomes a refusal; an abort stays one. */
async function asked<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof BailiffProblem) {
      const { code, problem, message, retryAfterMs, cause } = error;
      const retryAfterS = retryAfterMs === null ? null : Math.ceil(retryAfterMs / 1000);
      throw new BrokerRefusal(message, code, problem, { cause, retryAfterS });
    }
    if (error instanceof NoAnswer) throw new BrokerRefusal(error.message, null, null, { cause: error });
    throw error;
  }
}

/** The service for the commands of this program: views of its answers, over the client that everybody uses. */
export function createBrokerClient(settings: {
  readonly url: string;
  readonly key: string;
  readonly fetch: typeof fetch;
  /** How often a call that is safe to repeat is tried; the client's own number unless told. */
  readonly attempts?: number;
}): BrokerClient {
  const { transport } = createBailiffClient(settings);
  const call = (
    method: string,
    path: string,
    more: {
      body?: unknown;
      headers?: Record<string, string>;
      waitS?: number;
      signal?: AbortSignal;
      repeatable?: boolean;
    } = {},
  ): Promise<unknown> => {
    const { signal, repeatable = method === "GET", ...rest } = more;
    return asked(() => transport.json({ method, path, repeatable, ...rest }, { signal }));
  };
  const answerOf = <T extends z.ZodType>(schema: T, what: string, body: unknown): z.output<T> => {
    const view = schema.safeParse(body);
    if (!view.success)
      throw new BrokerRefusal(`the service answered with something else than ${what}`, null, body);
    return view.data;
  };
  const commandOf = (body: unknown): CommandView => ({
    ...answerOf(commandView, "a command", body),
    whole: body,
  });
  const id = encodeURIComponent;
  return {
    async openSession(workspaceId, profile) {
      const body = { workspace_id: workspaceId, ...(profile === null ? {} : { profile }) };
      const answer = await call("POST", "/v1/sessions", { body });
      return answerOf(z.object({ session_id: z.string() }), "a session", answer).session_id;
    },
    async closeSession(sessionId) {
      await call("DELETE", `/v1/sessions/${id(sessionId)}`);
    },
    async submit(sessionId, body, idempotencyKey, waitS, signal) {
      const headers = { "idempotency-key": idempotencyKey, prefer: `wait=${waitS}` };
      const more = { body, headers, waitS, signal, repeatable: true };
      return commandOf(await call("POST", `/v1/sessions/${id(sessionId)}/commands`, more));
    },
    async get(commandId, waitS, signal) {
      return commandOf(await call("GET", `/v1/commands/${id(commandId)}?wait=${waitS}`, { waitS, signal }));
    },
    call: (method, path, body) => call(method, path, body === undefined ? {} : { body }),
    async cancel(commandId) {
      await call("POST", `/v1/commands/${id(commandId)}/cancel`, { repeatable: true });
    },
    async newest(sessionId) {
      const page = z.object({ commands: z.array(z.object({ command_id: z.string() })) });
      const answer = await call("GET", `/v1/commands?session=${id(sessionId)}&limit=1`);
      return answerOf(page, "a page of commands", answer).commands[0]?.command_id ?? null;
    },
    async setCwd(sessionId, path) {
      const answer = await call("PUT", `/v1/sessions/${id(sessionId)}/cwd`, { body: { path } });
      return answerOf(z.object({ cwd: z.string() }), "a session", answer).cwd;
    },
    async explain(sessionId, body) {
      const more = { body: { session_id: sessionId, ...body }, repeatable: true };
      const answer = await call("POST", "/v1/policy/explain", more);
      const explanation = z.object({ decision: z.object(decisionSchema.shape) });
      return answerOf(explanation, "an explanation", answer).decision;
    },
    async bounds() {
      const document = answerOf(openapiView, "its own description", await call("GET", "/openapi.json"));
      const submit = document.paths["/v1/sessions/{id}/commands"].post.requestBody;
      const { timeout_s, max_stdout_chars } = submit.content["application/json"].schema.properties;
      return {
        defaultTimeoutMs: timeout_s.default * 1000,
        hardTimeoutMs: timeout_s.maximum * 1000,
        defaultCallChars: max_stdout_chars.default,
        hardCallChars: max_stdout_chars.maximum,
      };
    },
  };
}
