import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { METRIC_TABLE } from "../../../../src/adapters/telemetry/metric-table.js";
import { createPrometheusMetrics } from "../../../../src/adapters/telemetry/prometheus-metrics.js";

function metrics(process = false) {
  return createPrometheusMetrics({
    table: { ...METRIC_TABLE, test_depth: { kind: "gauge", help: "h", labels: ["pool"] } },
    process,
    onUndeclared: (problem) => {
      throw new Error(problem);
    },
  });
}

describe("metrics", () => {
  it("are exported as they were counted, observed and set", async () => {
    const held = metrics();
    held.count("bailiff_commands_finished_total", { outcome: "completed", effect: "completed" });
    held.count("bailiff_commands_finished_total", { outcome: "completed", effect: "completed" }, 2);
    held.observe("bailiff_queue_wait_seconds", 0.02);
    held.gauge("test_depth", 7, { pool: "default" });
    const text = await held.metricsText();
    expect(text).toContain('bailiff_commands_finished_total{outcome="completed",effect="completed"} 3');
    expect(text).toContain('bailiff_queue_wait_seconds_bucket{le="0.025"} 1');
    expect(text).toContain('bailiff_queue_wait_seconds_bucket{le="0.01"} 0');
    expect(text).toContain('test_depth{pool="default"} 7');
    expect(text).not.toContain("process_cpu");
    expect(held.contentType).toContain("text/plain");
  });

  it("take no undeclared name, kind or label", () => {
    const held = metrics();
    expect(() => held.count("bailiff_typo_total")).toThrow(/not a declared counter/);
    expect(() => held.count("constructor")).toThrow(/not a declared counter/);
    expect(() => held.observe("bailiff_commands_lost_total", 1)).toThrow(/not a declared histogram/);
    expect(() => held.count("bailiff_commands_finished_total", { outcome: "lost" })).toThrow(
      /takes the labels/,
    );
    expect(() => held.count("bailiff_commands_lost_total", { tenant: "acme" })).toThrow(/takes the labels/);
  });

  it("are read anew at each scrape where they have a source, once for scrapes at one time", async () => {
    const held = metrics();
    let asked = 0;
    let pools = ["default", "gone"];
    held.readAtScrape("test_depth", async () => {
      asked += 1;
      return pools.map((pool) => ({ labels: { pool }, value: asked }));
    });
    const [one, two] = await Promise.all([held.metricsText(), held.metricsText()]);
    expect(one).toContain('test_depth{pool="gone"} 1');
    expect(two).toBe(one);
    pools = ["default"];
    const later = await held.metricsText();
    expect(later).toContain('test_depth{pool="default"} 2');
    expect(later).not.toContain('pool="gone"');
  });

  it("say nothing in place of an old number where their source can't be read, and everything else as before", async () => {
    const held = metrics();
    let isAway = false;
    held.readAtScrape("test_depth", async () => {
      if (isAway) throw new Error("Redis is away");
      return [{ labels: { pool: "default" }, value: 3 }];
    });
    expect(await held.metricsText()).toContain('test_depth{pool="default"} 3');
    isAway = true;
    const text = await held.metricsText();
    expect(text).not.toMatch(/^test_depth/m);
    expect(text).toContain("bailiff_commands_lost_total 0");
  });

  it("of two instances are apart", async () => {
    const [one, two] = [metrics(), metrics()];
    one.count("bailiff_commands_lost_total");
    expect(await two.metricsText()).toContain("bailiff_commands_lost_total 0");
  });

  it("can include the process's own", async () => {
    expect(await metrics(true).metricsText()).toContain("process_cpu");
  });
});

describe("the table", () => {
  it("declares every name the sources use", () => {
    const used = new Set<string>();
    for (const file of readdirSync("src", { recursive: true, encoding: "utf8" })) {
      if (!file.endsWith(".ts")) continue;
      for (const [, name] of readFileSync(`src/${file}`, "utf8").matchAll(
        /(?:\.(?:count|observe|gauge|readAtScrape)\(\s*|\bgauge: )"([a-z_]+)"/g,
      )) {
        used.add(name ?? "");
      }
    }
    expect([...used].filter((name) => !Object.hasOwn(METRIC_TABLE, name))).toEqual([]);
    expect(Object.keys(METRIC_TABLE).filter((name) => !used.has(name))).toEqual([]);
  });

  it("has no label a caller could grow", () => {
    for (const { labels } of Object.values(METRIC_TABLE)) {
      for (const label of labels)
        expect(label).toMatch(
          /^(?:layer|verdict|outcome|effect|code|operation|method|route|status|state|pool|kind|result|reason|duty|decision|limit|direction|version|role)$/,
        );
    }
  });
});
