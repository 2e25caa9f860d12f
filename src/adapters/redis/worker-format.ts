import type { SeenWorker, WorkerStatus } from "../../ports/command-store.js";

/** What a worker says of itself, as `scripts/heartbeat.lua` keeps it. */
export function writeWorkerStatus(status: WorkerStatus): string {
  return JSON.stringify(status);
}

/** The worker behind one entry of a heartbeat: its beginning, the length of its lease and its status, between spaces. */
export function readWorker(
  workerId: string,
  text: string,
  leaseUntilMs: number,
  nowMs: number,
): SeenWorker | null {
  const [, startedAtMs, leaseMs, status] = /^(\d+) (-?\d+) (\{.*\})$/.exec(text) ?? [];
  if (startedAtMs === undefined || leaseMs === undefined || status === undefined) return null;
  return {
    workerId,
    status: JSON.parse(status) as WorkerStatus,
    startedAtMs: Number(startedAtMs),
    renewedAtMs: leaseUntilMs - Number(leaseMs),
    holdsLease: leaseUntilMs > nowMs,
  };
}
