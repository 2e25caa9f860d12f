import type { Decision } from "../domain/decision/decision.js";
import { POLICY_LEVELS, type PolicyLevel } from "../domain/decision/grant.js";
import { type CliCall, type CliCommand, type CliStream, UsageError } from "./cli-command.js";
import { escapeForTerminal } from "./terminal-text.js";

/** One thing that is wrong with a document, and where. */
export interface PolicyProblemLine {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly ruleId?: string;
  readonly message: string;
  readonly expected?: string;
}

/** One request of a file of cases. */
export interface PolicyCase {
  readonly id: string;
  readonly argv: readonly string[];
  readonly cwd: string;
}

/** A policy that loaded, as these commands use it. */
export interface LoadedPolicy {
  readonly version: string;
  readonly rules: number;
  decide(request: {
    argv: readonly string[];
    cwd: string;
    level: PolicyLevel;
    workspace: string | null;
  }): Promise<Decision>;
}

/** The world of policies: files and the decision pipeline. */
export interface PolicyAccess {
  /** The documents in order; an empty list is the default policy that ships. */
  load(files: readonly string[]): Promise<LoadedPolicy | readonly PolicyProblemLine[]>;
  /** One JSON object a line with `argv`, optionally `id` and `cwd`. Rejects with the line that is wrong. */
  readCases(file: string): Promise<readonly PolicyCase[]>;
}

/** Exit statuses of `policy explain`, so that a script can tell the verdicts apart. */
const VERDICT_STATUS = { allow: 0, ask: 10, deny: 11 } as const;

const LEVEL_OPTION = {
  level: { value: "LEVEL", summary: `The grant's policy level: ${POLICY_LEVELS.join(", ")} (allowlist).` },
} as const;

function levelOf({ values }: CliCall): PolicyLevel {
  const text = values["level"] ?? "allowlist";
  const level = POLICY_LEVELS.find((known) => known === text);
  if (level === undefined) throw new UsageError(`--level must be one of ${POLICY_LEVELS.join(", ")}`);
  return level;
}

const argvText = (argv: readonly string[]) => escapeForTerminal(JSON.stringify(argv));

function printProblems(stream: CliStream, problems: readonly PolicyProblemLine[]): void {
  for (const { file, line, column, ruleId, message, expected } of problems) {
    const rule = ruleId === undefined ? "" : ` rule ${ruleId}:`;
    stream.write(`${escapeForTerminal(`${file}:${line}:${column}:${rule} ${message}`)}\n`);
    if (expected !== undefined) stream.write(`    expected: ${escapeForTerminal(expected)}\n`);
  }
}

function printDecision(stream: CliStream, decision: Decision): void {
  stream.write(`${decision.verdict.toUpperCase()}  (policy ${decision.policyVersion.slice(0, 12)})\n\n`);
  for (const { layer, verdict, code, reason, ruleId, tokenIndex, vector } of decision.layers) {
    const where = [
      ruleId === undefined ? [] : [`rule ${ruleId}`],
      tokenIndex === undefined ? [] : [`token ${tokenIndex}`],
      vector === undefined ? [] : [`of ${argvText(vector)}`],
    ].flat();
    const note = where.length === 0 ? "" : ` [${where.join(", ")}]`;
    stream.write(`  ${layer.padEnd(13)} ${verdict.padEnd(7)} ${code}: ${escapeForTerminal(reason)}${note}\n`);
  }
  if (decision.innerVectors.length > 0) stream.write("\nSeen inside:\n");
  for (const { argv, via, certain } of decision.innerVectors) {
    stream.write(`  ${via.join(" > ")} > ${argvText(argv)}${certain ? "" : "  (one possible reading)"}\n`);
  }
}

/** `bailiff policy explain`, `policy check` and `policy diff`: offline, on files; nothing is run and nothing consumed. */
export function createPolicyCommands(access: PolicyAccess): readonly CliCommand[] {
  const loadOrExplain = async (files: readonly string[], stream: CliStream): Promise<LoadedPolicy | null> => {
    const loaded = await access.load(files);
    if ("decide" in loaded) return loaded;
    printProblems(stream, loaded);
    return null;
  };

  const explain: CliCommand = {
    name: "policy explain",
    summary: "Decide one argv and show every layer's verdict. Runs nothing.",
    operands: "ARGV...",
    operandsAfterDashes: true,
    options: {
      policy: {
        value: "FILES",
        summary: "Policy files in order, separated by commas; else the default policy.",
      },
      cwd: { value: "PATH", summary: "The session's directory, relative to the workspace root (.)." },
      workspace: {
        value: "DIR",
        summary: "A directory whose symlinks are followed; else none is looked into.",
      },
      ...LEVEL_OPTION,
      json: { value: null, summary: "Print the decision as JSON." },
    },
    statuses: [
      [VERDICT_STATUS.allow, "allow"],
      [VERDICT_STATUS.ask, "ask"],
      [VERDICT_STATUS.deny, "deny"],
      [1, "The policy does not load."],
    ],
    async run(call) {
      const { values, switches, operands, world } = call;
      if (operands.length === 0) throw new UsageError("needs an argv behind --");
      const policy = await loadOrExplain(values["policy"]?.split(",") ?? [], world.stderr);
      if (policy === null) return 1;
      const decision = await policy.decide({
        argv: operands,
        cwd: values["cwd"] ?? ".",
        level: levelOf(call),
        workspace: values["workspace"] ?? null,
      });
      if (switches.has("json")) world.stdout.write(`${JSON.stringify(decision, null, 2)}\n`);
      else printDecision(world.stdout, decision);
      return VERDICT_STATUS[decision.verdict];
    },
  };

  const check: CliCommand = {
    name: "policy check",
    summary: "Load policy files and run the examples of every rule.",
    operands: "FILE...",
    operandsAfterDashes: false,
    options: { json: { value: null, summary: "Print the problems as JSON." } },
    statuses: [
      [0, "The policy loads."],
      [1, "It does not; each problem is printed with file, line and column."],
    ],
    async run({ operands, switches, world }) {
      if (operands.length === 0) throw new UsageError("needs at least one file");
      const loaded = await access.load(operands);
      const problems = "decide" in loaded ? [] : loaded;
      if (switches.has("json")) world.stdout.write(`${JSON.stringify(problems, null, 2)}\n`);
      else if ("decide" in loaded)
        world.stdout.write(`ok: ${loaded.rules} rules, version ${loaded.version}\n`);
      else {
        printProblems(world.stdout, problems);
        world.stderr.write(`${problems.length} problem(s); this policy would not come into force\n`);
      }
      return problems.length === 0 ? 0 : 1;
    },
  };

  const diff: CliCommand = {
    name: "policy diff",
    summary: "Show which decisions would change between two policies.",
    operands: "A B",
    operandsAfterDashes: false,
    options: {
      against: {
        value: "CASES",
        summary: "A file with one JSON object a line: argv, and optionally id and cwd.",
      },
      ...LEVEL_OPTION,
      json: { value: null, summary: "Print the changes as JSON." },
    },
    statuses: [
      [0, "No decision changes."],
      [1, "A policy does not load."],
      [20, "Decisions change, none to a laxer verdict."],
      [21, "A decision gets laxer."],
    ],
    async run(call) {
      const { operands, values, switches, world } = call;
      const [first, second, ...more] = operands;
      const against = values["against"];
      if (first === undefined || second === undefined || more.length > 0)
        throw new UsageError("needs two policies");
      if (against === undefined) throw new UsageError("--against is required");
      const before = await loadOrExplain(first.split(","), world.stderr);
      const after = await loadOrExplain(second.split(","), world.stderr);
      if (before === null || after === null) return 1;
      const cases = await access.readCases(against);
      const level = levelOf(call);
      const changes: { id: string; argv: readonly string[]; before: string; after: string; by: string }[] =
        [];
      for (const { id, argv, cwd } of cases) {
        const was = await before.decide({ argv, cwd, level, workspace: null });
        const becomes = await after.decide({ argv, cwd, level, workspace: null });
        if (was.verdict === becomes.verdict) continue;
        const speaking = becomes.layers.find((layer) => layer.verdict === becomes.verdict);
        changes.push({
          id,
          argv,
          before: was.verdict,
          after: becomes.verdict,
          by: speaking?.ruleId ?? speaking?.code ?? "",
        });
      }
      if (switches.has("json")) world.stdout.write(`${JSON.stringify(changes, null, 2)}\n`);
      else {
        for (const change of changes) {
          world.stdout.write(
            `${escapeForTerminal(change.id).padEnd(10)} ${change.before.padEnd(5)} -> ${change.after.padEnd(5)} ${argvText(change.argv)}  by ${escapeForTerminal(change.by)}\n`,
          );
        }
        world.stdout.write(`${changes.length} of ${cases.length} decisions change\n`);
      }
      if (changes.length === 0) return 0;
      const rank = { allow: 0, ask: 1, deny: 2 } as Readonly<Record<string, number>>;
      return changes.some((change) => (rank[change.after] ?? 0) < (rank[change.before] ?? 0)) ? 21 : 20;
    },
  };

  return [explain, check, diff];
}
