import { readFileSync } from "node:fs";
import { loadPolicy } from "../src/adapters/policy-file/load-policy.js";
import { lexicalOnlyFacts } from "../src/domain/containment/workspace-facts.js";
import { UNLIMITED_BUDGET } from "../src/domain/decision/budget-verdict.js";
import { type DecisionInput, decide } from "../src/domain/pipeline.js";
import type { CompiledPolicy } from "../src/domain/policy/compiled-policy.js";

const SAMPLE_MS = 1_000;

/** Reads every character once: the least any decision about the same input can do. */
function baseline(argv: readonly string[]): number {
  let sum = 0;
  for (const token of argv) {
    for (let at = 0; at < token.length; at++) sum = (sum + token.charCodeAt(at)) | 0;
  }
  return sum;
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

function measure(step: () => unknown): { perSecond: number; p99Us: number } {
  for (let warm = 0; warm < 20; warm++) step();
  const samples: number[] = [];
  const until = performance.now() + SAMPLE_MS;
  let before = performance.now();
  while (before < until) {
    step();
    const after = performance.now();
    samples.push(after - before);
    before = after;
  }
  samples.sort((a, b) => a - b);
  const total = samples.reduce((sum, sample) => sum + sample, 0);
  const p99Ms = samples[Math.min(samples.length - 1, Math.floor(samples.length * 0.99))] ?? 0;
  return { perSecond: Math.round((samples.length / total) * 1_000), p99Us: Math.round(p99Ms * 1_000) };
}

function policyOf(name: string, ...texts: readonly string[]): CompiledPolicy {
  const loaded = loadPolicy(texts.map((text) => ({ name, text })));
  if (!loaded.ok) throw new Error(`${name} does not load: ${JSON.stringify(loaded.problems[0])}`);
  return loaded.policy;
}

/** So many deny rules about one executable, each with an option, a glob and two examples. */
function manyRules(count: number): string {
  const rules = Array.from(
    { length: count },
    (_, index) => `  - id: r${index}
    decision: deny
    pattern: [ls, { glob: "never-${index}*" }]
    options: { any: ["--option-${index}"] }
    reason: r
    justification: j
    match: [[ls, never-${index}, --option-${index}]]
    not_match: [[ls]]
`,
  );
  return `version: 1\nrules:\n${rules.join("")}`;
}

const text = readFileSync(new URL("../policy/default.yaml", import.meta.url), "utf8");
const shipped = policyOf("default.yaml", text);
const thousand = policyOf("1000 more rules", text, manyRules(1_000));

const WORDS = Array.from({ length: 4_095 }, (_, index) => `src/file-${index}.ts`);
const CASES: readonly (readonly [string, CompiledPolicy, readonly string[]])[] = [
  ["ls -la", shipped, ["ls", "-la"]],
  ["rg -n TODO src", shipped, ["rg", "-n", "TODO", "src"]],
  [
    "env -i A=1 nice -n 5 timeout 3 rm -rf x",
    shipped,
    ["env", "-i", "A=1", "nice", "-n", "5", "timeout", "3", "rm", "-rf", "x"],
  ],
  [
    "sh -c 'for f in *; do cat $f | grep x; done'",
    shipped,
    ["sh", "-c", "for f in *; do cat $f | grep x; done"],
  ],
  ["ls -la, 1,000 rules about ls", thousand, ["ls", "-la"]],
  ["4,096 tokens", shipped, ["ls", ...WORDS]],
  ["4,096 tokens, 1,000 rules about ls", thousand, ["ls", ...WORDS]],
  ["one token of 100 kB", shipped, ["cat", "a/".repeat(50_000)]],
  ["one token of 100 kB with 33,000 values", shipped, ["cat", "a=.".repeat(33_333)]],
];

console.log(
  `${"request".padEnd(50)}${"verdict".padEnd(9)}${"decisions/s".padStart(12)}${"p99 µs".padStart(10)}${"baseline/s".padStart(13)}${"p99 µs".padStart(10)}`,
);
for (const [name, policy, argv] of CASES) {
  const request = requestOf(argv);
  const ours = measure(() => decide(request, policy));
  const floor = measure(() => baseline(argv));
  const { verdict } = decide(request, policy);
  console.log(
    `${name.padEnd(50)}${verdict.padEnd(9)}${String(ours.perSecond).padStart(12)}${String(ours.p99Us).padStart(10)}${String(floor.perSecond).padStart(13)}${String(floor.p99Us).padStart(10)}`,
  );
}
