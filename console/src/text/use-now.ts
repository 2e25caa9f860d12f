import { useEffect, useState } from "preact/hooks";
import { useApi } from "../api/use-api.js";

/** This moment by the service's clock, told again every second. */
export function useNow(): number {
  const api = useApi();
  const [nowMs, setNowMs] = useState(() => api.nowMs());
  useEffect(() => {
    const timer = setInterval(() => setNowMs(api.nowMs()), 1_000);
    return () => clearInterval(timer);
  }, [api]);
  return nowMs;
}
