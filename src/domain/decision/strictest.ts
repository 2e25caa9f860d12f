import type { Verdict } from "./decision.js";

const RANK: Readonly<Record<Verdict, number>> = { allow: 0, ask: 1, deny: 2 };

/** The strictest of the verdicts: deny over ask over allow. */
export function strictest(first: Verdict, ...rest: readonly Verdict[]): Verdict {
  let result = first;
  for (const verdict of rest) {
    if (RANK[verdict] > RANK[result]) result = verdict;
  }
  return result;
}

/** True when `candidate` is at least as strict as `reference`. */
export function isAtLeastAsStrict(candidate: Verdict, reference: Verdict): boolean {
  return RANK[candidate] >= RANK[reference];
}
