import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { METRIC_TABLE } from "../../../src/adapters/telemetry/metric-table.js";
import { ALERT_CASES, type Series } from "../../support/helm/alert-cases.js";
import { installHelmTools } from "../../support/helm/helm-tools.js";
import { NEW_KUBERNETES, type Rendered, renderChart } from "../../support/helm/rendered-chart.js";
import { createScratchDirectory } from "../../support/scratch-directory.js";

const run = promisify(execFile);
const PROMTOOL = fileURLToPath(new URL("../../../scripts/promtool.mjs", import.meta.url));
const DOCS = fileURLToPath(new URL("../../../docs", import.meta.url));
/** Where it has to be fetched first, that takes its time. */
const FETCH_LIMIT_MS = 600_000;

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

interface Rules {
  readonly groups: readonly { readonly name: string; readonly rules: readonly Rule[] }[];
}

interface Expression {
  readonly title: string;
  readonly text: string;
}

let scratch: Awaited<ReturnType<typeof createScratchDirectory>>;
let promtool: string;
let chart: Rendered;
let rules: Rules;
let adapterQuery: string;

beforeAll(async () => {
  scratch = await createScratchDirectory();
  promtool = (await run(process.execPath, [PROMTOOL], { timeout: FETCH_LIMIT_MS })).stdout.trim();
  const tools = await installHelmTools();
  chart = await renderChart(tools, "helm4", "keda-values.yaml", NEW_KUBERNETES);
  rules = chart.objects.find(({ kind }) => kind === "PrometheusRule")?.spec as unknown as Rules;
  const page = await readFile(join(DOCS, "kubernetes.md"), "utf8");
  const [, block = ""] = /```yaml\n(externalRules:\n[^`]+)```/.exec(page) ?? [];
  const adapter = parse(block) as { externalRules: { metricsQuery: string }[] };
  // As the adapter fills it in for a worker's scaler.
  adapterQuery = (adapter.externalRules[0]?.metricsQuery ?? "")
    .replace("<<.Series>>", "bailiff_queue_entries")
    .replace("<<.LabelMatchers>>", 'namespace="agents",pool="small"');
}, FETCH_LIMIT_MS);

afterAll(() => scratch.remove());

/** Runs promtool; what it printed where it refuses, else null. */
async function refusal(args: readonly string[]): Promise<string | null> {
  try {
    await run(promtool, [...args], { cwd: scratch.path, timeout: 120_000 });
    return null;
  } catch (error) {
    const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
    return `${stdout}${stderr}` || String(error);
  }
}

/** Every question to Prometheus that the project asks or shows. */
async function allExpressions(): Promise<Expression[]> {
  const alerts = rules.groups.flatMap((group) =>
    group.rules.map(({ alert, expr }) => ({ title: alert, text: expr })),
  );
  const text = chart.objects.find(({ metadata }) => metadata.name === "release-bailiff-dashboard")?.data?.[
    "bailiff.json"
  ];
  const dashboard = JSON.parse(text ?? "{}") as { panels: { title: string; targets?: { expr: string }[] }[] };
  const panels = dashboard.panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({
      title,
      text: expr.replaceAll("$__rate_interval", "5m").replaceAll("$__range", "6h"),
    })),
  );
  const page = await readFile(join(DOCS, "observability.md"), "utf8");
  const blocks = [...page.matchAll(/```promql\n([^`]+)```/g)].flatMap(([, block = ""]) =>
    block.split("\n\n"),
  );
  const inline = [...page.matchAll(/`(sum [^`]+)`/g)].map(([, each = ""]) => each);
  const shown = [...blocks, ...inline].map((each) => ({ title: "observability.md", text: each.trim() }));
  return [...alerts, ...panels, ...shown, { title: "prometheus-adapter", text: adapterQuery }];
}

describe("questions to Prometheus", () => {
  it("are in its own language, the alerts of the chart as well as the dashboard's and the documentation's", async () => {
    const records = (await allExpressions()).map(({ text }, at) => ({ record: `asked:${at}`, expr: text }));
    expect(records.length).toBeGreaterThan(70);
    await writeFile(join(scratch.path, "alerts.yaml"), stringify(rules));
    await writeFile(
      join(scratch.path, "asked.yaml"),
      stringify({ groups: [{ name: "asked", rules: records }] }),
    );
    expect(await refusal(["check", "rules", "alerts.yaml", "asked.yaml"])).toBeNull();
    // It does look: what is not a question is refused.
    await writeFile(join(scratch.path, "wrong.yaml"), stringify(rules).replace("sum(", "sum(("));
    expect(await refusal(["check", "rules", "wrong.yaml"])).toContain("parse error");
  });

  it("ask only for metrics and labels that Bailiff has", async () => {
    const known = new Map(
      Object.entries(METRIC_TABLE).flatMap(([name, { kind, labels }]) =>
        kind === "histogram" ? [[`${name}_bucket`, [...labels, "le"]] as const] : [[name, labels] as const],
      ),
    );
    const problems = (await allExpressions()).flatMap(({ title, text }) => {
      const selected = [...text.matchAll(/\b(bailiff_[a-z_]+)\{([^}]*)\}/g)];
      const metrics = new Set(text.match(/\bbailiff_[a-z_]+/g));
      const unknown = [...metrics].filter((name) => !known.has(name));
      const labels = selected.flatMap(([, name = "", matchers = ""]) =>
        [...matchers.matchAll(/([a-z_]+)(?:=~|!=|=)"/g)]
          .map(([, label = ""]) => label)
          .filter((label) => label !== "namespace" && !known.get(name)?.includes(label)),
      );
      const grouped = [...text.matchAll(/by \(([^)]*)\)/g)]
        .flatMap(([, names = ""]) => names.split(", "))
        .filter(
          (label) => label !== "pod" && ![...metrics].every((name) => known.get(name)?.includes(label)),
        );
      return [...unknown, ...labels, ...grouped].map((what) => `${title}: ${what}`);
    });
    expect(problems).toEqual([]);
  });

  it("give the adapter one number for each pool, however many API processes say it", async () => {
    const entries = (pod: string, pool: string, state: string) =>
      `bailiff_queue_entries{namespace="agents",pod="${pod}",pool="${pool}",state="${state}"}`;
    await writeFile(join(scratch.path, "none.yaml"), stringify({ groups: [] }));
    const test = {
      interval: "30s",
      input_series: ["a-0", "a-1"].flatMap((pod) => [
        { series: entries(pod, "small", "prioritized"), values: "5+0x4" },
        { series: entries(pod, "small", "active"), values: "3+0x4" },
        { series: entries(pod, "default", "prioritized"), values: "100+0x4" },
      ]),
      promql_expr_test: [
        { expr: adapterQuery, eval_time: "1m", exp_samples: [{ labels: "{}", value: 8 }] },
        // Nothing is answered where Redis was not, rather than an old number or none waiting.
        { expr: adapterQuery, eval_time: "30m", exp_samples: [] },
      ],
    };
    await writeFile(
      join(scratch.path, "adapter.yaml"),
      stringify({ rule_files: ["none.yaml"], evaluation_interval: "30s", tests: [test] }),
    );
    expect(await refusal(["test", "rules", "adapter.yaml"])).toBeNull();
  });
});

describe("alerts", () => {
  const minutes = (count: number) => `${count * 60}s`;

  it("each have a case, and say whose they are where a sum over pods no longer does", () => {
    const all = rules.groups.flatMap((group) => group.rules);
    const names = all.map(({ alert }) => alert);
    expect(new Set(all.map(({ labels }) => labels["namespace"]))).toEqual(new Set(["agents"]));
    expect(ALERT_CASES.map(({ alert }) => alert)).toEqual(names);
  });

  it("are raised by what they mean and no sooner than they say, and by nothing just short of it or in another namespace", async () => {
    const service = chart.objects.find(
      ({ kind, metadata }) =>
        kind === "Service" && metadata.labels?.["app.kubernetes.io/component"] === "worker",
    )?.metadata.name;
    const seriesIn = (namespace: string, series: Series) =>
      Object.entries(series).map(([name, values]) => ({
        series: name.replace("$HERE", `namespace="${namespace}"`).replace("$WORKERS", service ?? ""),
        values,
      }));
    const tests = ALERT_CASES.flatMap(({ alert, series, firesAtMinute, labels = {}, quiet }) => {
      const rule = rules.groups.flatMap((group) => group.rules).find((each) => each.alert === alert);
      const raised = { exp_labels: { ...rule?.labels, ...labels }, exp_annotations: rule?.annotations };
      const at = (minute: number, expected: object[]) => ({
        eval_time: minutes(minute),
        alertname: alert,
        exp_alerts: expected,
      });
      const never = Array.from({ length: 60 }, (_, half) => at(half / 2 + 0.5, []));
      const loud = [at(firesAtMinute - 0.5, []), at(firesAtMinute, [raised])];
      const elsewhere = alert === "BailiffWorkersGone" ? [at(5, [raised])] : never;
      return [
        { interval: "30s", input_series: seriesIn("agents", series), alert_rule_test: loud },
        { interval: "30s", input_series: seriesIn("agents", quiet), alert_rule_test: never },
        { interval: "30s", input_series: seriesIn("elsewhere", series), alert_rule_test: elsewhere },
      ];
    });
    await writeFile(join(scratch.path, "alerts.yaml"), stringify(rules));
    await writeFile(
      join(scratch.path, "cases.yaml"),
      stringify({ rule_files: ["alerts.yaml"], evaluation_interval: "30s", tests }),
    );
    expect(await refusal(["test", "rules", "cases.yaml"])).toBeNull();
  });
});
