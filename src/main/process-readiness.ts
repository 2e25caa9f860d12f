import { createReadiness, type ReadinessCheck, type ReadinessNote } from "../app/readiness.js";
import type { BailiffServices } from "../app/services.js";
import type { Foundation } from "./foundation.js";

/** Readiness of a process: what all of them stand on, its own checks, and notes of faults it can go on with. */
export function createProcessReadiness(
  { policy, stores }: Pick<Foundation, "policy" | "stores">,
  checks: Readonly<Record<string, ReadinessCheck>>,
  notes: Readonly<Record<string, ReadinessNote>> = {},
): Pick<BailiffServices, "readiness"> {
  // A refused document leaves what was in force: worth seeing, no reason to take no work.
  const refused = {
    inPublic: "the newest policy is refused; the old one is in force",
    whole: () => policy.problem(),
  };
  const noted = { policy: refused, ...notes };
  return createReadiness(
    {
      redis: async () => ((await stores.isAnswering()) ? null : "redis does not answer"),
      ...Object.fromEntries(Object.keys(noted).map((name) => [name, async () => null])),
      ...checks,
    },
    noted,
  );
}
