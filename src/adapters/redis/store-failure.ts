import { StoreUnavailable } from "../../ports/command-store.js";

/** Replies of a Redis that is there but can't do what was asked now. */
const UNAVAILABLE_REPLIES = [
  "READONLY",
  "OOM",
  "MISCONF",
  "LOADING",
  "CLUSTERDOWN",
  "MASTERDOWN",
  "TRYAGAIN",
  "NOREPLICAS",
  "BUSY",
  "MOVED",
  "ASK",
  "NOAUTH",
  "WRONGPASS",
  "NOPERM",
  "UNKILLABLE",
];

const CONNECTION_FAILURES =
  /Connection is closed|isn't writeable|Command timed out|max retries per request|Socket timeout|Socket closed|max number of clients|ECONN|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN|ENOENT/i;

/** Whether an error of the client means that Redis did not or could not do it, and not that we asked for nonsense. */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof StoreUnavailable) return true;
  if (!(error instanceof Error)) return false;
  if (error.name === "ReplyError") {
    // An error inside a script is passed on with the script's own words before or behind it.
    return UNAVAILABLE_REPLIES.some((code) => new RegExp(`(^|[^A-Za-z])${code}[ ,]`).test(error.message));
  }
  const code = (error as Error & { code?: unknown }).code;
  return CONNECTION_FAILURES.test(`${error.name} ${String(code ?? "")} ${error.message}`);
}

/** Runs one use of Redis; its failures of availability reject as StoreUnavailable, everything else unchanged. */
export async function orUnavailable<T>(use: () => Promise<T>): Promise<T> {
  try {
    return await use();
  } catch (error) {
    if (error instanceof StoreUnavailable || !isUnavailable(error)) throw error;
    throw new StoreUnavailable("Redis did not do it", { cause: error });
  }
}

/** The same with a bound on the time, for calls that would wait for a connection. */
export async function orUnavailableWithin<T>(limitMs: number, use: () => Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(
      () => reject(new StoreUnavailable(`Redis did not answer within ${limitMs} ms`)),
      limitMs,
    );
  });
  try {
    return await Promise.race([orUnavailable(use), late]);
  } finally {
    clearTimeout(timer);
  }
}
