import { readFile } from "node:fs/promises";
import type { CompiledPolicy } from "../../domain/policy/compiled-policy.js";
import type { PolicySource } from "../../ports/policy-source.js";
import type { Log, Metrics } from "../../ports/telemetry.js";
import { formatPolicyProblem, loadPolicy } from "./load-policy.js";

/** The first documents are bad: there is nothing to fall back to. The message has one line per problem. */
export class PolicyUnusable extends Error {
  override readonly name = "PolicyUnusable";
}

/**
 * Policy from files, looked at every `intervalMs` and on `reload()`. The swap is atomic; a bad document leaves the old
 * one in force and shows in `problem()`, a metric and the log. Rejects with PolicyUnusable where the first read fails.
 */
export async function createPolicyFileSource(deps: {
  readonly paths: readonly string[];
  readonly intervalMs: number;
  readonly log: Log;
  readonly metrics: Metrics;
}): Promise<PolicySource> {
  const readTexts = async () =>
    Promise.all(deps.paths.map(async (name) => ({ name, text: await readFile(name, "utf8") })));
  const attempt = async (): Promise<{
    seen: string;
    policy: CompiledPolicy | null;
    problem: string | null;
  }> => {
    let texts: Awaited<ReturnType<typeof readTexts>>;
    try {
      texts = await readTexts();
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code ?? "unreadable";
      return { seen: `unreadable ${code}`, policy: null, problem: `a policy file can't be read (${code})` };
    }
    const seen = JSON.stringify(texts);
    if (seen === lastSeen) return { seen, policy: null, problem: lastProblem };
    const loaded = loadPolicy(texts);
    if (loaded.ok) return { seen, policy: loaded.policy, problem: null };
    return { seen, policy: null, problem: loaded.problems.map(formatPolicyProblem).join("\n") };
  };

  let lastSeen = "";
  let lastProblem: string | null = null;
  const first = await attempt();
  if (first.policy === null) throw new PolicyUnusable(first.problem ?? "no policy");
  let policy = first.policy;
  lastSeen = first.seen;
  deps.metrics.gauge("bailiff_policy_problem", 0);

  let reloading: Promise<void> | null = null;
  const reload = (): Promise<void> => {
    reloading ??= (async () => {
      const next = await attempt();
      if (next.seen === lastSeen) return;
      lastSeen = next.seen;
      lastProblem = next.problem;
      deps.metrics.count("bailiff_policy_reloads_total", {
        result: next.policy === null ? "refused" : "loaded",
      });
      deps.metrics.gauge("bailiff_policy_problem", next.policy === null ? 1 : 0);
      if (next.policy === null) {
        deps.log.error({ problem: next.problem }, "the new policy is refused; the old one stays in force");
        return;
      }
      policy = next.policy;
      deps.log.info({ policy_version: policy.version }, "policy in force");
    })().finally(() => {
      reloading = null;
    });
    return reloading;
  };

  const timer = setInterval(() => void reload(), deps.intervalMs);
  timer.unref();
  return {
    current: () => policy,
    problem: () => lastProblem,
    reload,
    async close() {
      clearInterval(timer);
      await reloading;
    },
  };
}
