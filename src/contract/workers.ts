import { z } from "zod";
import { isoTime, timeSchema } from "./wire-values.js";

const count = z.int().min(0);

/** `GET /v1/workers`: the whole deployment at one moment. */
export const fleetSchema = z
  .strictObject({
    workers: z
      .array(
        z.strictObject({
          worker_id: z.string(),
          host: z.string(),
          pools: z.array(z.string()).meta({ description: "The queues it takes from." }),
          concurrency: count.meta({ description: "Commands of each pool that it runs at once." }),
          running: count.meta({ description: "Commands it held when it renewed its lease." }),
          started_at: timeSchema,
          renewed_at: timeSchema,
          state: z.enum(["alive", "draining", "silent"]).meta({
            description:
              "`draining`: it ends and takes no more. `silent`: its lease has ended; what it ran is ended as lost.",
          }),
          warm_containers: count.meta({ description: "Containers ready for commands to come." }),
        }),
      )
      .meta({
        description: "The latest renewed first, at most 1,000. A worker that ended in order is not listed.",
      }),
    queues: z.array(
      z.strictObject({
        pool: z.string(),
        waiting: count.meta({ description: "Entries that were put back; they are next." }),
        prioritized: count.meta({ description: "Entries in the order of fair queueing." }),
        active: count.meta({ description: "Entries that workers hold." }),
        delayed: count,
        workers: count.meta({ description: "Workers that take from it now; with 0 its commands wait." }),
      }),
    ),
    commands: z.strictObject({ awaiting_approval: count, queued: count, dispatched: count }),
  })
  .meta({ id: "Fleet" });

/** The deployment on the wire. */
export type FleetWire = z.output<typeof fleetSchema>;

/** The deployment as operators see it. */
export function fleetToWire(fleet: {
  readonly workers: readonly {
    readonly workerId: string;
    readonly status: {
      readonly host: string;
      readonly pools: readonly string[];
      readonly concurrency: number;
      readonly running: number;
      readonly warmContainers: number;
      readonly isDraining: boolean;
    };
    readonly startedAtMs: number;
    readonly renewedAtMs: number;
    readonly holdsLease: boolean;
  }[];
  readonly queues: readonly FleetWire["queues"][number][];
  readonly commands: FleetWire["commands"];
}): FleetWire {
  return {
    workers: fleet.workers.map(({ workerId, status, startedAtMs, renewedAtMs, holdsLease }) => ({
      worker_id: workerId,
      host: status.host,
      pools: [...status.pools],
      concurrency: status.concurrency,
      running: status.running,
      started_at: isoTime(startedAtMs),
      renewed_at: isoTime(renewedAtMs),
      state: !holdsLease ? "silent" : status.isDraining ? "draining" : "alive",
      warm_containers: status.warmContainers,
    })),
    queues: fleet.queues.map(({ pool, waiting, prioritized, active, delayed, workers }) => ({
      pool,
      waiting,
      prioritized,
      active,
      delayed,
      workers,
    })),
    commands: { ...fleet.commands },
  };
}
