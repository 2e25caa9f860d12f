import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { Metrics } from "../../ports/telemetry.js";
import type { MetricDeclaration } from "./metric-table.js";

type Labels = Readonly<Record<string, string>>;

/** One value of a gauge, at the moment of a scrape. */
export interface Reading {
  readonly labels: Labels;
  readonly value: number;
}

/** Metrics that can be scraped. */
export interface PrometheusMetrics extends Metrics {
  /**
   * Has a gauge be what `read` says, asked anew at each scrape; scrapes at one time share an answer. Where it can't be read it
   * says nothing: an old number would pass for one of now.
   */
  readAtScrape(name: string, read: () => Promise<readonly Reading[]>): void;
  /** The current values in Prometheus's text format. */
  metricsText(): Promise<string>;
  /** The media type of that text. */
  readonly contentType: string;
}

/** Told of a use that the table does not declare; throws in tests, logs in a process that must go on. */
export type OnUndeclared = (problem: string) => void;

/** Metrics from a declared table, in a registry of their own. */
export function createPrometheusMetrics(settings: {
  readonly table: Readonly<Record<string, MetricDeclaration>>;
  /** Also export the process's own numbers. */
  readonly process: boolean;
  readonly onUndeclared: OnUndeclared;
}): PrometheusMetrics {
  const registry = new Registry();
  const counters = new Map<string, Counter>();
  const gauges = new Map<string, Gauge>();
  const histograms = new Map<string, Histogram>();

  for (const [name, { kind, help, labels, buckets }] of Object.entries(settings.table)) {
    const shared = { name, help, labelNames: [...labels], registers: [registry] };
    if (kind === "counter") counters.set(name, new Counter(shared));
    else if (kind === "gauge") gauges.set(name, new Gauge(shared));
    else histograms.set(name, new Histogram({ ...shared, buckets: [...(buckets ?? [])] }));
  }
  if (settings.process) collectDefaultMetrics({ register: registry });

  const use = <T>(
    held: ReadonlyMap<string, T>,
    kind: string,
    name: string,
    labels: Labels,
    act: (metric: T) => void,
  ) => {
    const metric = held.get(name);
    if (metric === undefined) {
      settings.onUndeclared(`${name} is not a declared ${kind}`);
      return;
    }
    const declared = settings.table[name]?.labels ?? [];
    const given = Object.keys(labels);
    if (given.length !== declared.length || given.some((label) => !declared.includes(label))) {
      settings.onUndeclared(`${name} takes the labels [${declared.join(", ")}], not [${given.join(", ")}]`);
      return;
    }
    act(metric);
  };

  const gauge = (name: string, value: number, labels: Labels = {}) =>
    use(gauges, "gauge", name, labels, (metric) => metric.set(labels, value));

  const sources: (() => Promise<void>)[] = [];
  let reading: Promise<unknown> | null = null;
  const readAll = () => {
    reading ??= Promise.all(sources.map((source) => source())).finally(() => {
      reading = null;
    });
    return reading;
  };

  return {
    count: (name, labels = {}, by = 1) =>
      use(counters, "counter", name, labels, (metric) => metric.inc(labels, by)),
    observe: (name, valueSeconds, labels = {}) =>
      use(histograms, "histogram", name, labels, (metric) => metric.observe(labels, valueSeconds)),
    gauge,
    readAtScrape(name, read) {
      sources.push(async () => {
        const readings = await read().catch((): readonly Reading[] => []);
        gauges.get(name)?.reset();
        for (const { labels, value } of readings) gauge(name, value, labels);
      });
    },
    async metricsText() {
      await readAll();
      return registry.metrics();
    },
    contentType: registry.contentType,
  };
}
