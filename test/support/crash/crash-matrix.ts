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
    // The fence is voided under which it may have gone through, so the command is queued again.
    ["claim unanswered", ranOnce],
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

/** What happens to a running command whose worker lives while Redis fails. */
export const REDIS_MATRIX: readonly Verdict[] = [
  ...[
    "Redis restarted",
    "Redis down for 10 s",
    "Redis silent for 10 s",
    "Redis without its replicas (NOREPLICAS)",
    "Redis demoted to a replica (READONLY)",
    "Redis with a full disk (MISCONF)",
    "Redis out of memory (OOM)",
  ].map((fault) => ({ fault, step: "argv sent", ...ranOnce })),
  // Nothing is left that a verdict could be written on: the API says that there is no such command.
  { fault: "FLUSHALL", step: "argv sent", ledger: 1, ended: true, outcome: "not_found", effect: "-" },
];

/** What happens to a running command when its container or its engine fails. */
export const ENGINE_MATRIX: readonly Verdict[] = [
  ...[
    "container killed from outside",
    "container stopped from outside",
    "container removed from outside",
    "engine restarted",
    "engine restarted with live-restore",
    "engine killed and restarted with live-restore",
    "engine silent, container frozen",
    "worker killed, engine removes nothing",
  ].map((fault) => ({ fault, step: "argv sent", ...killed })),
  { fault: "engine silent on remove", step: "exited", ...ranOnce },
  {
    fault: "engine silent on create",
    step: "taken",
    ledger: 0,
    ended: false,
    outcome: "start_failed",
    effect: "none",
  },
];

/** Everything, in the order of the documentation. */
export const CRASH_MATRIX: readonly Verdict[] = [...WORKER_MATRIX, ...REDIS_MATRIX, ...ENGINE_MATRIX];
