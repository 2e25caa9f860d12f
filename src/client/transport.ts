import type { ProblemWire } from "../contract/problems.js";
import { boundedSignal, pause } from "./bounded-time.js";
import { BailiffProblem, NoAnswer, passesByItself } from "./errors.js";

/** What every call takes. */
export interface CallOptions {
  /** Ends the call with the signal's own reason. Never cancels a command. */
  readonly signal?: AbortSignal | undefined;
  /** For the whole call, with its repeats and waits; no end unless told. */
  readonly timeoutMs?: number | undefined;
  /** How often it may be tried in all, where a repeat is safe; the client's own number unless told. */
  readonly attempts?: number | undefined;
}

/** Where the service is, who asks it, and how patiently. */
export interface ClientSettings {
  readonly url: string;
  /** An API key or a token, or what fetches a fresh one. It goes into one header and nowhere else. */
  readonly key: string | (() => string | Promise<string>);
  /** The platform's own unless told. */
  readonly fetch?: typeof fetch | undefined;
  /** How often a call that is safe to repeat is tried in all; 4 unless told. */
  readonly attempts?: number | undefined;
  /** How long one try may go without an answer, beyond the wait that it asked for; 30,000 unless told. */
  readonly answerTimeoutMs?: number | undefined;
  /** The longest pause before the second try, which doubles with each further one, and its bound; 250 and 8,000 unless told. */
  readonly pauses?: { readonly firstMs: number; readonly longestMs: number } | undefined;
}

/** One request. */
export interface Request {
  readonly method: string;
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | undefined>> | undefined;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent as it is, in place of `body`. */
  readonly content?: { readonly type: string; readonly bytes: Uint8Array | ReadableStream<Uint8Array> };
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** SAFETY: whether to send it twice is the same as to send it once. */
  readonly repeatable: boolean;
  /** Seconds that the service was asked to wait. */
  readonly waitS?: number | undefined;
}

/** An answer whose body is still to be read. `close` must be called. */
export interface OpenAnswer {
  readonly response: Response;
  close(): void;
}

/** Sends requests: repeats what is safe, and turns everything but success into an error. */
export interface Transport {
  /** The answer's JSON; null where it has no body. */
  json(request: Request, options?: CallOptions): Promise<unknown>;
  /** The answer as soon as its head is there; what comes after is bounded by the caller's signal alone. */
  open(request: Request, options?: CallOptions): Promise<OpenAnswer>;
}

const ATTEMPTS = 4;
const ANSWER_TIMEOUT_MS = 30_000;
const PAUSES = { firstMs: 250, longestMs: 8_000 };
/** A service that asks for more patience than this is told of to the caller instead. */
const LONGEST_RETRY_AFTER_MS = 60_000;

/** What proxies answer in place of a service. */
const PASSING_STATUS: ReadonlySet<number> = new Set([429, 502, 503, 504]);

function passes(failure: BailiffProblem | NoAnswer): boolean {
  if (failure instanceof BailiffProblem) return passesByItself(failure.code);
  return failure.status === null || PASSING_STATUS.has(failure.status);
}

/** The pause before another try: what the service asked for, and a random part so that clients do not come back as one. */
function pauseMs(
  failure: BailiffProblem | NoAnswer,
  triedBefore: number,
  { firstMs, longestMs } = PAUSES,
): number {
  const longest = Math.min(longestMs, firstMs * 2 ** triedBefore);
  return (failure.retryAfterMs ?? 0) + Math.random() * longest;
}

/** Milliseconds of a `Retry-After` header, seconds or a date; null where there is none. */
function retryAfterMs(headers: Headers): number | null {
  const text = headers.get("retry-after");
  if (text === null) return null;
  if (/^[0-9]{1,9}$/.test(text)) return Number(text) * 1000;
  const atMs = Date.parse(text);
  return Number.isNaN(atMs) ? null : Math.max(0, atMs - Date.now());
}

function failureOf(response: Response, text: string): BailiffProblem | NoAnswer {
  const wait = retryAfterMs(response.headers);
  const body = parsed(text) as Partial<ProblemWire> | null | undefined;
  if (typeof body === "object" && body !== null && typeof body.code === "string")
    return new BailiffProblem(body as ProblemWire, response.status, wait);
  return new NoAnswer("unexpected", `the service answered with status ${response.status}`, {
    status: response.status,
    retryAfterMs: wait,
  });
}

/** Undefined for what is not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Builds the transport of one client. */
export function createTransport(settings: ClientSettings): Transport {
  const base = new URL(settings.url);
  const send: typeof fetch = settings.fetch ?? ((input, init) => fetch(input, init));
  const answerTimeoutMs = settings.answerTimeoutMs ?? ANSWER_TIMEOUT_MS;

  const headersOf = async (request: Request): Promise<Record<string, string>> => {
    const key = typeof settings.key === "string" ? settings.key : await settings.key();
    // The platform would quote what it refuses as a header.
    if (!/^[\x21-\x7e]+$/.test(key)) throw new TypeError("the key must be one word of ASCII");
    const headers: Record<string, string> = { ...request.headers, authorization: `Bearer ${key}` };
    if (request.content !== undefined) headers["content-type"] = request.content.type;
    else if (request.body !== undefined) headers["content-type"] = "application/json";
    return headers;
  };

  const targetOf = (request: Request): URL => {
    // A service can live under a path of its host.
    const target = new URL(`${base.pathname.replace(/\/$/, "")}${request.path}`, base);
    for (const [name, value] of Object.entries(request.query ?? {}))
      if (value !== undefined) target.searchParams.set(name, String(value));
    return target;
  };

  /** One try. Its signal stays bound to the caller's until it is closed. */
  const attempt = async (
    request: Request,
    caller: AbortSignal | undefined,
    isWhole: boolean,
  ): Promise<OpenAnswer & { readonly text: string }> => {
    const headers = await headersOf(request);
    const bound = boundedSignal(caller, answerTimeoutMs + (request.waitS ?? 0) * 1000);
    const content = request.content?.bytes;
    const body = content ?? (request.body === undefined ? undefined : JSON.stringify(request.body));
    const init: RequestInit & { duplex?: "half" } = {
      method: request.method,
      headers,
      // SAFETY: a redirect would carry the key to another place.
      redirect: "error",
      signal: bound.signal,
      ...(body === undefined ? {} : { body: body as NonNullable<RequestInit["body"]> }),
      ...(content instanceof ReadableStream ? { duplex: "half" } : {}),
    };
    try {
      const response = await send(targetOf(request), init);
      const text = isWhole || !response.ok ? await response.text() : "";
      if (!response.ok) throw failureOf(response, text);
      bound.stopClock();
      const close = () => {
        bound.release();
        bound.abort();
      };
      return { response, text, close };
    } catch (error) {
      const isOver = bound.isOver();
      bound.release();
      if (error instanceof BailiffProblem || error instanceof NoAnswer) throw error;
      if (caller?.aborted) throw caller.reason;
      throw isOver
        ? new NoAnswer("timeout", `no answer came from ${base.origin} in time`, { cause: error })
        : new NoAnswer("unreachable", `the service at ${base.origin} can't be reached`, { cause: error });
    }
  };

  const ask = async (request: Request, options: CallOptions, isWhole: boolean) => {
    const attempts = request.repeatable ? (options.attempts ?? settings.attempts ?? ATTEMPTS) : 1;
    const whole = boundedSignal(options.signal, options.timeoutMs ?? Number.POSITIVE_INFINITY);
    const untilMs = Date.now() + (options.timeoutMs ?? Number.POSITIVE_INFINITY);
    let last: BailiffProblem | NoAnswer | null = null;
    try {
      for (let tried = 0; ; tried += 1) {
        try {
          const answer = await attempt(request, whole.signal, isWhole);
          whole.stopClock();
          const close = () => {
            answer.close();
            whole.release();
          };
          return { ...answer, close };
        } catch (error) {
          if (!(error instanceof BailiffProblem || error instanceof NoAnswer)) throw error;
          last = error;
        }
        if (tried + 1 >= attempts || !passes(last)) throw last;
        if ((last.retryAfterMs ?? 0) > LONGEST_RETRY_AFTER_MS) throw last;
        const wait = pauseMs(last, tried, settings.pauses);
        if (Date.now() + wait >= untilMs) throw last;
        await pause(wait, whole.signal);
      }
    } catch (error) {
      whole.release();
      if (error instanceof BailiffProblem || options.signal?.aborted) throw error;
      if (!whole.isOver()) throw error;
      throw new NoAnswer("timeout", "the time for the call is over", { cause: last ?? error });
    }
  };

  return {
    async json(request, options = {}) {
      const { response, text, close } = await ask(request, options, true);
      close();
      if (text === "") return null;
      const body = parsed(text);
      if (body !== undefined) return body;
      throw new NoAnswer("unexpected", "the service answered with something else than JSON", {
        status: response.status,
      });
    },
    open: (request, options = {}) => ask(request, options, false),
  };
}
