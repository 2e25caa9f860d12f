import { z } from "zod";

/** `/healthz`. */
export const healthSchema = z.strictObject({ status: z.literal("ok") }).meta({ id: "Health" });

/** `/readyz`: every check by name. */
export const readinessSchema = z
  .strictObject({
    ready: z.boolean(),
    checks: z.record(z.string(), z.strictObject({ ok: z.boolean(), detail: z.string().nullable() })),
  })
  .meta({ id: "Readiness" });

/** Readiness on the wire. */
export type ReadinessWire = z.output<typeof readinessSchema>;

/** Readiness as callers see it; `isOperator` also shows what is not for everybody. */
export function readinessToWire(
  readiness: {
    readonly ready: boolean;
    readonly checks: Readonly<
      Record<
        string,
        { readonly ok: boolean; readonly detail: string | null; readonly operatorDetail: string | null }
      >
    >;
  },
  isOperator: boolean,
): ReadinessWire {
  const checks = Object.entries(readiness.checks).map(
    ([name, { ok, detail, operatorDetail }]) =>
      [name, { ok, detail: isOperator ? operatorDetail : detail }] as const,
  );
  return { ready: readiness.ready, checks: Object.fromEntries(checks) };
}
