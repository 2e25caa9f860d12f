import { z } from "zod";
import type { CliCommand } from "./cli-command.js";
import { CALL_OPTIONS, callService, SERVICE_STATUSES } from "./service-call.js";
import { type Line, stateWord } from "./styled-line.js";

const count = z.int();
// A newer service may answer with more members: the client reads the ones it knows.
const fleetView = z.object({
  workers: z.array(
    z.object({
      worker_id: z.string(),
      host: z.string(),
      pools: z.array(z.string()),
      concurrency: count,
      running: count,
      started_at: z.string(),
      renewed_at: z.string(),
      state: z.string(),
      warm_containers: count,
    }),
  ),
  queues: z.array(
    z.object({
      pool: z.string(),
      waiting: count,
      prioritized: count,
      active: count,
      delayed: count,
      workers: count,
    }),
  ),
  commands: z.object({ awaiting_approval: count, queued: count, dispatched: count }),
});

type FleetView = z.infer<typeof fleetView>;

function workerLine(worker: FleetView["workers"][number]): Line {
  const room = worker.concurrency * worker.pools.length;
  return [
    `worker    ${worker.worker_id}  `,
    stateWord(worker.state, 8),
    `  ${worker.running} of ${room} running  ${worker.warm_containers} warm  pools ${worker.pools.join(",")}` +
      `  host ${worker.host}  started ${worker.started_at}  renewed ${worker.renewed_at}`,
  ];
}

function queueLine({
  pool,
  waiting,
  prioritized,
  active,
  delayed,
  workers,
}: FleetView["queues"][number]): Line {
  const served = workers === 0 ? { text: "no worker", tone: "bad" as const } : `${workers} worker(s)`;
  return [
    `queue     ${pool}  ${waiting + prioritized} waiting  ${active} active  ${delayed} delayed  `,
    served,
  ];
}

/** `bailiff workers`: the deployment at one moment. */
export function createWorkersCommand(deps: { readonly fetch: typeof fetch }): CliCommand {
  return {
    name: "workers",
    summary: "Show every worker, queue and how many commands stand where; needs the scope admin.",
    operands: null,
    operandsAfterDashes: false,
    options: CALL_OPTIONS,
    statuses: SERVICE_STATUSES,
    run: (call) =>
      callService(
        call,
        deps.fetch,
        (client) => client.call("GET", "/v1/workers"),
        (answer) => {
          const { workers, queues, commands } = fleetView.parse(answer);
          const { awaiting_approval, queued, dispatched } = commands;
          return [
            ...workers.map(workerLine),
            ...queues.map(queueLine),
            `commands  ${awaiting_approval} awaiting approval, ${queued} queued, ${dispatched} dispatched`,
          ];
        },
      ),
  };
}
