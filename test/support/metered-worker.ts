import type { BailiffProcess, Installation } from "./bailiff.js";
import { until } from "./until.js";

/** A worker process that tells its metrics. */
export interface MeteredWorker extends BailiffProcess {
  /** A metric's value, of the series with these labels; 0 where there is none yet. */
  metric(series: string): Promise<number>;
}

/** Starts a worker process and resolves once it takes commands and tells its metrics. */
export async function startMeteredWorker(
  installation: Installation,
  worker: Record<string, unknown> = {},
): Promise<MeteredWorker> {
  const started = await installation.start("worker", { worker: { ...worker, probe_port: 0 } });
  const told = async () => /"probe_url":"([^"]+)"/.exec(await started.log())?.[1];
  await until(async () => (await told()) !== undefined);
  const url = `${await told()}/metrics`;
  return {
    ...started,
    async metric(series) {
      const text = await (await fetch(url)).text();
      const line = text.split("\n").find((each) => each.startsWith(`${series} `));
      return Number(line?.slice(series.length + 1) ?? 0);
    },
  };
}
