import { type BrokerClient, BrokerRefusal } from "./broker-client.js";
import type { CliCall, CliOption } from "./cli-command.js";
import { UsageError } from "./cli-command.js";
import { clientOf, SERVICE_OPTIONS } from "./service-options.js";
import { type Line, printLines } from "./styled-line.js";
import { escapeForTerminal } from "./terminal-text.js";

/** Exit statuses of the commands that look at a service or change something in it. */
export const SERVICE_STATUSES: readonly (readonly [number, string])[] = [
  [0, "Done."],
  [1, "The service can't be reached or failed."],
  [2, "The call makes no sense."],
  [3, "There is no such thing."],
  [4, "Its state does not allow it: it is settled already, or by somebody else to decide."],
  [5, "The key may not do this."],
];

const STATUS_OF_CODE: Readonly<Record<string, number>> = {
  not_found: 3,
  conflict: 4,
  insufficient_scope: 5,
  unauthenticated: 5,
};

/** Options of every such command. */
export const CALL_OPTIONS: Readonly<Record<string, CliOption>> = {
  url: SERVICE_OPTIONS.url,
  "key-file": SERVICE_OPTIONS["key-file"],
  json: { value: null, summary: "Print the service's whole answer as JSON." },
};

/** Asks the service and shows the answer: as JSON, or as the lines that `show` makes of it. Resolves with the exit status. */
export async function callService(
  call: CliCall,
  fetchOf: typeof fetch,
  ask: (client: BrokerClient) => Promise<unknown>,
  show: (answer: unknown) => readonly Line[],
): Promise<number> {
  const { world, switches } = call;
  try {
    const answer = await ask(await clientOf(call, fetchOf));
    if (switches.has("json")) world.stdout.write(`${JSON.stringify(answer)}\n`);
    else printLines(world, show(answer));
    return 0;
  } catch (error) {
    if (!(error instanceof BrokerRefusal)) throw error;
    if (switches.has("json") && error.whole !== null) world.stdout.write(`${JSON.stringify(error.whole)}\n`);
    world.stderr.write(`bailiff: ${escapeForTerminal(error.message)}\n`);
    return STATUS_OF_CODE[error.code ?? ""] ?? 1;
  }
}

/** The one operand of a call. Throws UsageError unless there is exactly one. */
export function oneOperand({ operands }: CliCall, name: string): string {
  const [first] = operands;
  if (first === undefined || operands.length !== 1) throw new UsageError(`takes one operand: ${name}`);
  return first;
}

/** The query string of options that were given, by the names that the service knows them under. */
export function queryOf(call: CliCall, names: readonly string[]): string {
  const query = new URLSearchParams();
  for (const name of names) {
    const value = call.values[name];
    if (value !== undefined) query.set(name, value);
  }
  const text = query.toString();
  return text === "" ? "" : `?${text}`;
}

/** Says on a line of its own that more follows. */
export function moreLine(nextCursor: string | null): readonly string[] {
  return nextCursor === null ? [] : [`more: --cursor ${nextCursor}`];
}
