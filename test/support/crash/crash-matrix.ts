import type { Fault, Step } from "./faults.js";
import type { Verdict } from "./verdicts.js";

type Ending = Pick<Verdict, "ledger" | "ended" | "outcome" | "effect">;

const ranOnce: Ending = { ledger: 1, ended: true, outcome: "completed", effect: "completed" };
const neverSent: Ending = { ledger: 0, ended: false, outcome: "lost", effect: "unknown" };
const killed: Ending = { ledger: 1, ended: false, outcome: "lost", effect: "unknown" };
/** The program had ended, but whoever knew that could not say so. */
const endedUnheard: Ending = { ledger: 1, ended: true, outcome: "lost", effect: "unknown" };

const rows = (fault: Fault, steps: readonly (readonly [Step, Ending])[]): Verdict[] =>
  steps.map(([step, ending]) => ({ fault, step, ...ending }));

/** What strikes at each step must lead to; `docs/reliability.md` shows it, and `test/crash` proves it. */
export const WORKER_MATRIX: readonly Verdict[] = [
  ...(["killed", "stopped", "blocked"] as const).flatMap((fault) =>
    rows(fault, [
      ["taken", ranOnce],
      ["container ready", ranOnce],
      ["claimed", neverSent],
      ["argv sent", killed],
      ["exited", endedUnheard],
      ["result written", ranOnce],
      ["acknowledged", ranOnce],
    ]),
  ),
  ...rows("partitioned", [
    ["taken", ranOnce],
    ["container ready", ranOnce],
    ["claim unanswered", neverSent],
    ["claimed", endedUnheard],
    ["argv sent", killed],
    ["exited", endedUnheard],
    ["result written", ranOnce],
    ["acknowledged", ranOnce],
  ]),
];

/** The steps of one fault, in their order. */
export function stepsOf(fault: Fault): Step[] {
  return WORKER_MATRIX.filter((row) => row.fault === fault).map((row) => row.step as Step);
}
