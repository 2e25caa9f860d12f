import { createContext } from "preact";
import { useContext, useEffect, useRef, useState } from "preact/hooks";
import type { ApiClient } from "./api-client.js";

/** The signed-in client, for everything below the sign-in screen. */
export const ApiContext = createContext<ApiClient | null>(null);

/** The client of the page that is signed in. */
export function useApi(): ApiClient {
  const api = useContext(ApiContext);
  if (api === null) throw new Error("a page was shown to nobody");
  return api;
}

/** What a page knows of something it asked for. */
export interface Loaded<T> {
  readonly value: T | null;
  readonly error: unknown;
  /** Asks again now. */
  reload(): void;
}

/**
 * Asks for something, and again every `everyMs` while the page can be seen; null asks once. A new `key` forgets the old answer; an
 * answer stays while a later one fails, and `error` says so.
 */
export function usePolled<T>(
  key: string,
  everyMs: number | null,
  ask: (signal: AbortSignal) => Promise<T>,
): Loaded<T> {
  const [state, setState] = useState<{ key: string; value: T | null; error: unknown }>({
    key,
    value: null,
    error: null,
  });
  const [turn, setTurn] = useState(0);
  const latest = useRef(ask);
  latest.current = ask;

  useEffect(() => {
    const controller = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const again = () => {
      if (everyMs !== null && !controller.signal.aborted) timer = setTimeout(round, everyMs);
    };
    const round = async () => {
      if (document.hidden) return again();
      try {
        const value = await latest.current(controller.signal);
        if (!controller.signal.aborted) setState({ key, value, error: null });
      } catch (error) {
        if (controller.signal.aborted) return;
        setState((old) => ({ key, value: old.key === key ? old.value : null, error }));
      }
      again();
    };
    void round();
    return () => {
      controller.abort();
      clearTimeout(timer);
    };
  }, [key, everyMs, turn]);

  const current = state.key === key ? state : { value: null, error: null };
  return { value: current.value, error: current.error, reload: () => setTurn((old) => old + 1) };
}
