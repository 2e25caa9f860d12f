import type { PrincipalWire } from "./wire.js";

/** A refusal of the API, or the lack of an answer (status 0). */
export class ApiProblem extends Error {
  override readonly name = "ApiProblem";
  readonly status: number;
  readonly code: string;
  /** The problem document; empty where there was none. */
  readonly body: Readonly<Record<string, unknown>>;

  constructor(status: number, code: string, detail: string, body: Readonly<Record<string, unknown>> = {}) {
    super(detail);
    this.status = status;
    this.code = code;
    this.body = body;
  }
}

/** The API as one key sees it. The key is in this closure and nowhere else: not in a store of the browser, not in an address. */
export interface ApiClient {
  readonly principal: PrincipalWire;
  /** The time by the service's clock, as far as its answers tell: what expires, expires by that one. */
  nowMs(): number;
  /** Whether the key may do this; `admin` may everything. */
  may(scope: string): boolean;
  get<T>(path: string, signal?: AbortSignal): Promise<T>;
  post<T>(path: string, body?: unknown, signal?: AbortSignal): Promise<T>;
  /** Asks for the cookie that opens the queues' board to this browser for a while. */
  visitBoard(): Promise<void>;
  /** The messages of an event stream. By fetch, because an EventSource can't send the key in a header. */
  stream(path: string, lastEventId: string | null, signal: AbortSignal): Promise<Response>;
}

const SAME_CLOCK_MS = 3_000;

/** Signs in: asks the API who the key belongs to. Rejects with ApiProblem 401 for a key that is not valid. */
export async function signIn(key: string, onSignedOut: () => void): Promise<ApiClient> {
  let aheadMs = 0;
  const call = async (path: string, init: RequestInit): Promise<Response> => {
    let response: Response;
    try {
      response = await fetch(path, {
        ...init,
        headers: { ...init.headers, authorization: `Bearer ${key}` },
        cache: "no-store",
        credentials: init.credentials ?? "omit",
        redirect: "error",
      });
    } catch (error) {
      if (init.signal?.aborted) throw error;
      throw new ApiProblem(0, "unreachable", "the service can't be reached");
    }
    const served = Date.parse(response.headers.get("date") ?? "") - Date.now();
    // The header has whole seconds, and the answer took its way: less than this is no difference of clocks.
    aheadMs = Math.abs(served) > SAME_CLOCK_MS ? served : 0;
    if (response.ok) return response;
    const problem = await problemOf(response);
    if (problem.status === 401) onSignedOut();
    throw problem;
  };
  const json = async <T>(path: string, init: RequestInit): Promise<T> => {
    const response = await call(path, init);
    return (await response.json()) as T;
  };

  const principal = await json<PrincipalWire>("/v1/principal", {});
  return {
    principal,
    nowMs: () => Date.now() + aheadMs,
    may: (scope) => principal.scopes.includes(scope) || principal.scopes.includes("admin"),
    get: (path, signal) => json(path, { ...(signal === undefined ? {} : { signal }) }),
    post: (path, body, signal) =>
      json(path, {
        method: "POST",
        ...(body === undefined
          ? {}
          : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
        ...(signal === undefined ? {} : { signal }),
      }),
    visitBoard: async () => {
      // The one answer whose cookie is taken: no script can read it, and only the board's path gets it.
      await call("/console/queues/visit", { method: "POST", credentials: "same-origin" });
    },
    stream: (path, lastEventId, signal) =>
      call(path, { signal, headers: lastEventId === null ? {} : { "last-event-id": lastEventId } }),
  };
}

async function problemOf(response: Response): Promise<ApiProblem> {
  const text = await response.text().catch(() => "");
  try {
    const body = JSON.parse(text) as Record<string, unknown>;
    return new ApiProblem(
      response.status,
      String(body["code"] ?? "unknown"),
      String(body["detail"] ?? ""),
      body,
    );
  } catch {
    return new ApiProblem(response.status, "unknown", `the service answered ${response.status}`);
  }
}

/** Any thrown value in words for a person. */
export function wordsOf(error: unknown): string {
  return error instanceof ApiProblem ? error.message : "something went wrong in this page";
}
