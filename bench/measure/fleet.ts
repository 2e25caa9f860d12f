import { fileURLToPath } from "node:url";
import type { CommandRecord } from "../../src/domain/command.js";
import type { BailiffProcess } from "../../test/support/bailiff.js";
import type { ControlPlane, Submitter } from "./control-plane.js";
import { keepGoing } from "./sampling.js";

const WORKER = fileURLToPath(new URL("simulated-worker.ts", import.meta.url));
const SUBMITTERS = 32;
const END_LIMIT_MS = 60_000;

/** Worker processes of one control plane with simulated containers. */
export interface Fleet {
  readonly workers: readonly BailiffProcess[];
  stop(): Promise<void>;
}

/** Starts so many worker processes and resolves once all of them take commands. */
export async function startFleet(
  { installation, redis }: ControlPlane,
  given: { readonly workers: number; readonly concurrency: number; readonly containerMs: number },
): Promise<Fleet> {
  const workers: BailiffProcess[] = [];
  for (let i = 0; i < given.workers; i += 1) {
    workers.push(
      await installation.start(
        "worker",
        { redis: { url: redis.url }, worker: { concurrency: given.concurrency } },
        (configPath) => ["--import", "tsx", WORKER, configPath, String(given.containerMs)],
      ),
    );
  }
  return {
    workers,
    async stop() {
      await Promise.all(workers.map((worker) => worker.stop()));
    },
  };
}

/** Submits so many commands, waits for all their ends and answers their records. */
export async function runBatch(
  { foundation }: ControlPlane,
  submitter: Submitter,
  commands: number,
): Promise<readonly CommandRecord[]> {
  const ids: string[] = [];
  await keepGoing({ concurrency: SUBMITTERS, forMs: END_LIMIT_MS, atMost: commands }, async () => {
    ids.push((await submitter.submit(0)).id);
  });
  return Promise.all(
    ids.map(async (id) => {
      const record = await foundation.stores.commands.waitForEnd(
        id,
        END_LIMIT_MS,
        new AbortController().signal,
      );
      if (record?.state !== "finished") throw new Error(`${id} did not end in time`);
      return record;
    }),
  );
}

/** From the first dispatch of a batch to its last end. */
export function elapsedMsOf(records: readonly CommandRecord[]): number {
  const dispatched = records.map((record) => record.dispatchedAtMs ?? Number.NaN);
  const finished = records.map((record) => record.finishedAtMs ?? Number.NaN);
  return Math.max(...finished) - Math.min(...dispatched);
}
