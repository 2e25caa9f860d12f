import type { BailiffProcess } from "../bailiff.js";

/** The sum of the series whose name and labels match, or 0 where there is none. */
export async function metricValue(service: BailiffProcess, key: string, series: RegExp): Promise<number> {
  const { body } = await service.call(key, "GET", "/metrics");
  return String(body)
    .split("\n")
    .filter((line) => series.test(line))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" ") + 1)), 0);
}
