import { METRIC_TABLE, type MetricDeclaration } from "../../src/adapters/telemetry/metric-table.js";

const cell = (text: string) => text.replaceAll("|", "\\|");

const BUCKETS = (buckets: readonly number[]) => buckets.map(String).join(", ");

/** The histograms that share their bounds, by those bounds. */
function histogramsByBounds(): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const [name, { buckets }] of Object.entries(METRIC_TABLE)) {
    if (buckets === undefined) continue;
    const bounds = BUCKETS(buckets);
    found.set(bounds, [...(found.get(bounds) ?? []), name]);
  }
  return found;
}

const rowOf = (name: string, { kind, labels, help }: MetricDeclaration) =>
  `| \`${name}\` | ${kind} | ${labels.map((label) => `\`${label}\``).join(", ")} | ${cell(help)} |`;

/** `docs/metrics.md` as the table of metrics says it. */
export function metricsPage(): string {
  const names = Object.keys(METRIC_TABLE).sort();
  return `${[
    "# Metrics",
    "",
    "This page is written from the table of metrics by its test; `npx vitest run test/unit/docs -u` writes it again.",
    "",
    "In the Prometheus text format, per process: the API at `/metrics` (scope `admin`, or `server.public_metrics`), a worker on",
    "`worker.probe_port`. Times are in seconds, counters end in `_total`. Labels are from closed sets: no tenant, id, path or argv is",
    "ever one. With `metrics.process` the process's own numbers (`process_*`, `nodejs_*`) are beside them. [Observability](observability.md)",
    "says which to look at first.",
    "",
    "| metric | kind | labels | what it says |",
    "| --- | --- | --- | --- |",
    ...names.map((name) => rowOf(name, METRIC_TABLE[name] as MetricDeclaration)),
    "",
    "## Upper bounds of the histograms, in seconds",
    "",
    ...[...histogramsByBounds()].map(
      ([bounds, held]) =>
        `- ${bounds}: ${[...held]
          .sort()
          .map((name) => `\`${name}\``)
          .join(", ")}.`,
    ),
  ].join("\n")}\n`;
}
