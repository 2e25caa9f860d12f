import type { BailiffServices } from "./services.js";

/** Null when fine, else why not: a constant text for an operator, without addresses or secrets. */
export type ReadinessCheck = () => Promise<string | null>;

/** Builds the readiness answer. A note is shown in its check's detail and does not make the process unready. */
export function createReadiness(
  checks: Readonly<Record<string, ReadinessCheck>>,
  notes: Readonly<Record<string, () => string | null>>,
): Pick<BailiffServices, "readiness"> {
  return {
    async readiness() {
      const results = await Promise.all(
        Object.entries(checks).map(async ([name, check]) => {
          const fault = await check().catch(() => "the check itself failed");
          return [name, { ok: fault === null, detail: fault ?? notes[name]?.() ?? null }] as const;
        }),
      );
      return { ready: results.every(([, result]) => result.ok), checks: Object.fromEntries(results) };
    },
  };
}
