import { readFileSync } from "node:fs";
import { loadPolicy } from "../src/adapters/policy-file/load-policy.js";
import { lexicalOnlyFacts } from "../src/domain/containment/workspace-facts.js";
import { UNLIMITED_BUDGET } from "../src/domain/decision/budget-verdict.js";
import { type DecisionInput, decide, pathCandidates } from "../src/domain/pipeline.js";
import type { CompiledPolicy } from "../src/domain/policy/compiled-policy.js";
import type { Benchmark } from "./measure/benchmark.js";
import { createRows } from "./measure/row.js";

const US_PER_MS = 1_000;
const WARM_UP = 20;
const MOST_SAMPLES = 100_000;
const WORDS = Array.from({ length: 4_095 }, (_, index) => `src/file-${index}.ts`);

/** Decisions of the whole pipeline, from everyday requests to the largest ones and a thousand rules more. */
export const policy: Benchmark = {
  name: "policy",
  title: "one decision of the whole pipeline, shipped policy; computation on one core, no file system",
  async run(context) {
    const text = readFileSync(new URL("../policy/default.yaml", import.meta.url), "utf8");
    const shipped = policyOf(text);
    const thousand = policyOf(`${text}${thousandRules()}`);
    const chain = ["env", "-i", "A=1", "nice", "-n", "5", "timeout", "3", "rm", "-rf", "x"];
    const cases: readonly (readonly [string, CompiledPolicy, readonly string[]])[] = [
      ["ls -la", shipped, ["ls", "-la"]],
      ["rg -n TODO src", shipped, ["rg", "-n", "TODO", "src"]],
      ["rm -rf behind env, nice and timeout", shipped, chain],
      ["sh -c with a loop and a pipe", shipped, ["sh", "-c", "for f in *; do cat $f | grep x; done"]],
      ["ls -la, 1,000 rules about ls", thousand, ["ls", "-la"]],
      ["4,096 tokens", shipped, ["ls", ...WORDS]],
      ["4,096 tokens, 1,000 rules about ls", thousand, ["ls", ...WORDS]],
      ["one token of 100 kB", shipped, ["cat", "a/".repeat(50_000)]],
      ["one token of 100 kB with 33,000 values", shipped, ["cat", "a=.".repeat(33_333)]],
    ];
    const forMs = context.size === "quick" ? 200 : 1_000;
    const table = createRows("policy");
    for (const [label, compiled, argv] of cases) {
      context.say(label);
      const request = requestOf(argv);
      const floorLabel = `the floor: every character read once: ${label}`;
      table.samples(
        floorLabel,
        "µs",
        measureUs(forMs, () => readOnce(argv)),
      );
      const decisions = measureUs(forMs, () => decide(request, compiled));
      table.samples(label, "µs", decisions, floorLabel);
      table.value(
        `  decisions: ${label}`,
        "per s",
        decisions.length / sumOf(decisions, 1 / (1_000 * US_PER_MS)),
      );
      table.samples(
        `  paths to look up: ${label}`,
        "µs",
        measureUs(forMs, () => pathCandidates({ argv, cwd: "." }, compiled)),
      );
    }
    return { rows: table.rows, goals: [], notes: [] };
  },
};

/** Microseconds of each call in a bounded time, after a warm-up. */
function measureUs(forMs: number, step: () => unknown): readonly number[] {
  for (let warm = 0; warm < WARM_UP; warm += 1) step();
  const samples: number[] = [];
  const untilMs = performance.now() + forMs;
  let beganMs = performance.now();
  while (beganMs < untilMs && samples.length < MOST_SAMPLES) {
    step();
    const endedMs = performance.now();
    samples.push((endedMs - beganMs) * US_PER_MS);
    beganMs = endedMs;
  }
  return samples;
}

function sumOf(values: readonly number[], factor: number): number {
  return values.reduce((sum, value) => sum + value * factor, 0);
}

/** The least any decision about an argv can do. */
function readOnce(argv: readonly string[]): number {
  let sum = 0;
  for (const token of argv) {
    for (let at = 0; at < token.length; at += 1) sum = (sum + token.charCodeAt(at)) | 0;
  }
  return sum;
}

function policyOf(text: string): CompiledPolicy {
  const loaded = loadPolicy([{ name: "policy.yaml", text }]);
  if (!loaded.ok) throw new Error(`the policy does not load: ${JSON.stringify(loaded.problems[0])}`);
  return loaded.policy;
}

/** A thousand deny rules about one executable, each with a glob and an option, to stand behind the shipped ones. */
function thousandRules(): string {
  return Array.from(
    { length: 1_000 },
    (_, index) => `  - id: r${index}
    decision: deny
    pattern: [ls, { glob: "never-${index}*" }]
    options: { any: ["--option-${index}"] }
    reason: r
    justification: j
    match: [[ls, never-${index}, --option-${index}]]
    not_match: [[ls]]
`,
  ).join("");
}

function requestOf(argv: readonly string[]): DecisionInput {
  return {
    argv,
    cwd: ".",
    authorization: { scopes: new Set(["commands:write"]), principalTenant: "a", sessionTenant: "a" },
    grant: {
      level: "allowlist",
      revoked: false,
      expiresAtMs: null,
      dispatchesLeft: null,
      executables: null,
      vectors: [],
    },
    nowMs: 0,
    profile: {
      name: "default",
      imageDigest: `sha256:${"0".repeat(64)}`,
      networkCapable: false,
      readOnlyRoots: [],
    },
    workspaceFacts: lexicalOnlyFacts,
    sessionLabel: { sensitivity: "public", trust: "unknown", categories: [], tenant: "a" },
    sourceLabels: [],
    budget: UNLIMITED_BUDGET,
  };
}
