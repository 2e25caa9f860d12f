import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { METRIC_TABLE } from "../../../src/adapters/telemetry/metric-table.js";
import { metricsPage } from "../../support/metrics-page.js";

test("docs/metrics.md says what the table of metrics says", async () => {
  await expect(metricsPage()).toMatchFileSnapshot("../../../docs/metrics.md");
});

test("every metric has a name and a unit as Prometheus has them", () => {
  for (const [name, { kind, buckets }] of Object.entries(METRIC_TABLE)) {
    expect(name).toMatch(/^bailiff_[a-z]+(?:_[a-z]+)*$/);
    expect(name.endsWith("_total")).toBe(kind === "counter");
    expect(name.endsWith("_seconds")).toBe(kind === "histogram");
    expect(buckets === undefined).toBe(kind !== "histogram");
  }
});

test("every metric that docs/observability.md names exists", async () => {
  const page = await readFile("docs/observability.md", "utf8");
  // A query names the series of a histogram's bounds.
  const named = new Set(
    page.match(/bailiff_[a-z_]+/g)?.map((name) => name.replace(/_seconds_bucket$/, "_seconds")),
  );
  expect([...named].filter((name) => METRIC_TABLE[name] === undefined)).toEqual([]);
  expect(named.size).toBeGreaterThan(10);
});
