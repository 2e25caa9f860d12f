import { parseArgs } from "node:util";
import { type CliCall, type CliCommand, type CliWorld, USAGE_STATUS, UsageError } from "./cli-command.js";
import { escapeForTerminal } from "./terminal-text.js";

const HELP = "help";

function columns(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join("\n");
}

function overview(commands: readonly CliCommand[]): string {
  return [
    "Usage: bailiff COMMAND [OPTIONS]",
    "",
    "Runs one command at a time for AI agents, each in a container of its own.",
    "",
    "Commands:",
    columns(commands.map(({ name, summary }) => [name, summary] as const)),
    "",
    "`bailiff COMMAND --help` says more. `bailiff --version` prints the version.",
    "",
  ].join("\n");
}

function help(command: CliCommand): string {
  const options = Object.entries(command.options).map(
    ([name, { value, summary }]) => [`--${name}${value === null ? "" : ` ${value}`}`, summary] as const,
  );
  const operands =
    command.operands === null ? "" : ` ${command.operandsAfterDashes ? "-- " : ""}${command.operands}`;
  const statuses = command.statuses.map(([status, meaning]) => [String(status), meaning] as const);
  return [
    `Usage: bailiff ${command.name} [OPTIONS]${operands}`,
    "",
    command.summary,
    "",
    "Options:",
    columns([...options, ["--help", "Show this text."]]),
    ...(statuses.length > 0 ? ["", "Exit status:", columns(statuses)] : []),
    "",
  ].join("\n");
}

/** The command whose words come first, and the rest; longer names win. */
function find(commands: readonly CliCommand[], args: readonly string[]) {
  const byLength = [...commands].sort((a, b) => b.name.length - a.name.length);
  for (const command of byLength) {
    const words = command.name.split(" ");
    if (words.every((word, i) => args[i] === word)) return { command, rest: args.slice(words.length) };
  }
  return null;
}

function parseCall(command: CliCommand, args: readonly string[], world: CliWorld): CliCall | typeof HELP {
  const dashes = args.indexOf("--");
  const options = Object.fromEntries(
    Object.entries(command.options).map(([name, { value }]) => [
      name,
      { type: value === null ? ("boolean" as const) : ("string" as const) },
    ]),
  );
  let parsed: ReturnType<typeof parseWith>;
  try {
    parsed = parseWith(dashes === -1 ? args : args.slice(0, dashes), options);
  } catch (error) {
    throw new UsageError(String((error as Error).message).replace(/\. To specify .*$/s, ""));
  }
  if (parsed.values[HELP] === true) return HELP;
  const seen = new Set<string>();
  for (const token of parsed.tokens) {
    if (token.kind !== "option") continue;
    if (seen.has(token.name)) throw new UsageError(`--${token.name} is given twice`);
    seen.add(token.name);
  }
  const after = dashes === -1 ? [] : args.slice(dashes + 1);
  const before = parsed.positionals;
  if (command.operands === null && before.length + after.length > 0) {
    throw new UsageError(`takes no operands, got ${JSON.stringify(before[0] ?? after[0])}`);
  }
  if (command.operandsAfterDashes && before.length > 0) {
    throw new UsageError(
      `put -- before the operands, as in: bailiff ${command.name} [OPTIONS] -- ${before[0]}`,
    );
  }
  const values: Record<string, string> = {};
  const switches = new Set<string>();
  for (const [name, value] of Object.entries(parsed.values)) {
    if (typeof value === "string") values[name] = value;
    else if (value === true) switches.add(name);
  }
  return { values, switches, operands: [...before, ...after], world };
}

function parseWith(args: readonly string[], options: Record<string, { type: "boolean" | "string" }>) {
  return parseArgs({
    args: [...args],
    options: { ...options, [HELP]: { type: "boolean", short: "h" } },
    strict: true,
    allowPositionals: true,
    tokens: true,
  });
}

/**
 * Runs the command that the arguments name and resolves with the exit status. A wrong call is 2 with a line on
 * standard error; a failure is 1 with its message and never a stack.
 */
export async function runCommandLine(deps: {
  readonly commands: readonly CliCommand[];
  readonly version: string;
  readonly args: readonly string[];
  readonly world: CliWorld;
}): Promise<number> {
  const { commands, args, world } = deps;
  const complain = (text: string) => world.stderr.write(`bailiff: ${escapeForTerminal(text)}\n`);
  const [first] = args;
  if (first === "--version") {
    world.stdout.write(`${deps.version}\n`);
    return 0;
  }
  if (first === undefined || first === "--help" || first === "-h" || first === HELP) {
    const wanted = first === HELP ? find(commands, args.slice(1)) : null;
    (first === undefined ? world.stderr : world.stdout).write(
      wanted ? help(wanted.command) : overview(commands),
    );
    return first === undefined ? USAGE_STATUS : 0;
  }
  const found = find(commands, args);
  if (found === null) {
    const group = commands
      .filter(({ name }) => name.startsWith(`${first} `))
      .map(({ name }) => `\`bailiff ${name}\``);
    complain(
      group.length > 0
        ? `\`${first}\` needs one more word: ${group.join(", ")}`
        : `there is no command ${JSON.stringify(first)}; \`bailiff --help\` lists them`,
    );
    return USAGE_STATUS;
  }
  const { command, rest } = found;
  try {
    const call = parseCall(command, rest, world);
    if (call !== HELP) return await command.run(call);
    world.stdout.write(help(command));
    return 0;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    if (!(error instanceof UsageError)) {
      complain(message);
      return 1;
    }
    complain(`${command.name}: ${message}; \`bailiff ${command.name} --help\` says how`);
    return USAGE_STATUS;
  }
}
