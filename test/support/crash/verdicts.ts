import { appendFileSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

/** What one row of the crash matrix showed. */
export interface Verdict {
  readonly fault: string;
  readonly step: string;
  /** Lines that the command had appended to its ledger. */
  readonly ledger: number;
  /** Whether the program came to its own end. */
  readonly ended: boolean;
  readonly outcome: string;
  readonly effect: string;
}

const OBSERVED = fileURLToPath(new URL("../../../.bailiff/crash-verdicts.jsonl", import.meta.url));

/** Keeps what a row showed, for the table at the end of the run. */
export function recordVerdicts(verdicts: readonly Verdict[]): void {
  appendFileSync(OBSERVED, verdicts.map((verdict) => `${JSON.stringify(verdict)}\n`).join(""));
}

/** The matrix as a Markdown table. */
export function verdictTable(verdicts: readonly Verdict[]): string {
  const widthless = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [
    widthless(["fault", "at", "ledger lines", "program ended by itself", "outcome", "effect"]),
    widthless(["---", "---", "---", "---", "---", "---"]),
    ...verdicts.map(({ fault, step, ledger, ended, outcome, effect }) =>
      widthless([fault, step, String(ledger), ended ? "yes" : "no", `\`${outcome}\``, `\`${effect}\``]),
    ),
  ].join("\n");
}

/** Vitest's set-up of the project: a fresh record, and the table once all have run. */
export default function collectVerdicts(): () => void {
  mkdirSync(dirname(OBSERVED), { recursive: true });
  rmSync(OBSERVED, { force: true });
  return () => {
    let text = "";
    try {
      text = readFileSync(OBSERVED, "utf8");
    } catch {
      return;
    }
    const rows = text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Verdict);
    process.stdout.write(`\nWhat breaking everything showed:\n\n${verdictTable(rows)}\n\n`);
  };
}
