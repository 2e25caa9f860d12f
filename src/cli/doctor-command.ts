import { type CliCommand, UsageError } from "./cli-command.js";
import { printLines, stateWord } from "./styled-line.js";

/** What a check found. `fix` says what to do; null where nothing is to be done. */
export interface CheckResult {
  readonly status: "ok" | "warn" | "fail";
  readonly detail: string;
  readonly fix: string | null;
}

/** One thing that must be right on this machine. A check that rejects has failed. */
export interface DoctorCheck {
  readonly name: string;
  run(): Promise<CheckResult>;
}

const LABELS = { ok: "ok", warn: "warn", fail: "FAIL" } as const;

async function withDeadline(check: DoctorCheck, deadlineMs: number): Promise<CheckResult> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<CheckResult>((resolve) => {
    timer = setTimeout(
      () => resolve({ status: "fail", detail: `no answer within ${deadlineMs / 1000} s`, fix: null }),
      deadlineMs,
    );
  });
  try {
    return await Promise.race([check.run(), late]);
  } catch (error) {
    return { status: "fail", detail: error instanceof Error ? error.message : String(error), fix: null };
  } finally {
    clearTimeout(timer);
  }
}

/** `bailiff doctor`: one line for each check, in order, and how to fix what is wrong. */
export function createDoctorCommand(deps: {
  /** The checks for a configuration file, or for the defaults. */
  readonly checks: (configPath: string | null) => Promise<readonly DoctorCheck[]>;
  readonly deadlineMs: number;
}): CliCommand {
  return {
    name: "doctor",
    summary: "Check that this machine can run Bailiff, and say how to fix what is wrong.",
    operands: null,
    operandsAfterDashes: false,
    options: {
      config: { value: "FILE", summary: "Configuration file; else BAILIFF_CONFIG, else the defaults." },
      json: { value: null, summary: "Print JSON." },
    },
    statuses: [
      [0, "Nothing failed; there may be warnings."],
      [1, "Something failed."],
    ],
    async run({ values, switches, world }) {
      const checks = await deps.checks(values["config"] ?? world.env["BAILIFF_CONFIG"] ?? null);
      if (checks.length === 0) throw new UsageError("there is nothing to check");
      const results: (CheckResult & { name: string })[] = [];
      for (const check of checks) {
        const result = { name: check.name, ...(await withDeadline(check, deps.deadlineMs)) };
        results.push(result);
        if (switches.has("json")) continue;
        const [detail = "", ...more] = result.detail.split("\n");
        const fix = result.fix === null || result.status === "ok" ? [] : [`fix: ${result.fix}`];
        printLines(world, [
          [stateWord(LABELS[result.status], 4), `  ${result.name}: ${detail}`],
          ...[...more, ...fix].map((text) => `      ${text}`),
        ]);
      }
      if (switches.has("json")) world.stdout.write(`${JSON.stringify(results, null, 2)}\n`);
      return results.some(({ status }) => status === "fail") ? 1 : 0;
    },
  };
}
