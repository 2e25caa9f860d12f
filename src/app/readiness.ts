import type { BailiffServices } from "./services.js";

/** Null when fine, else why not: a constant text for an operator, without addresses or secrets. */
export type ReadinessCheck = () => Promise<string | null>;

/** Something worth seeing that takes no readiness. */
export interface ReadinessNote {
  /** What anybody may be told: a constant text. */
  readonly inPublic: string;
  /** The whole of it, for operators alone: it can quote files. Null while there is nothing to note. */
  readonly whole: () => string | null;
}

/** Builds the readiness answer. A note is shown in its check's detail and does not make the process unready. */
export function createReadiness(
  checks: Readonly<Record<string, ReadinessCheck>>,
  notes: Readonly<Record<string, ReadinessNote>>,
): Pick<BailiffServices, "readiness"> {
  return {
    async readiness() {
      const results = await Promise.all(
        Object.entries(checks).map(async ([name, check]) => {
          const fault = await check().catch(() => "the check itself failed");
          if (fault !== null) return [name, { ok: false, detail: fault, operatorDetail: fault }] as const;
          const whole = notes[name]?.whole() ?? null;
          const detail = whole === null ? null : (notes[name]?.inPublic ?? null);
          return [name, { ok: true, detail, operatorDetail: whole }] as const;
        }),
      );
      return { ready: results.every(([, result]) => result.ok), checks: Object.fromEntries(results) };
    },
  };
}
