import { TRANSITIONS } from "../../src/domain/command.js";
import { CRASH_MATRIX } from "./crash/crash-matrix.js";
import { verdictTable } from "./crash/verdicts.js";

/** Where each step comes from, as one line of the diagram or one row of the table. */
function steps(): { name: string; from: readonly string[]; to: string }[] {
  return Object.entries(TRANSITIONS).map(([name, { from, to }]) => ({ name, from, to }));
}

function stateDiagram(): string {
  return [
    "```mermaid",
    "stateDiagram-v2",
    "  [*] --> awaiting_approval: admitted, policy says ask",
    "  [*] --> queued: admitted",
    "  [*] --> finished: denied",
    ...steps().flatMap(({ name, from, to }) => from.map((state) => `  ${state} --> ${to}: ${name}`)),
    "  finished --> [*]: retention over",
    "```",
  ].join("\n");
}

function stateTable(): string {
  return [
    "| step | from | to |",
    "| --- | --- | --- |",
    ...steps().map(
      ({ name, from, to }) =>
        `| \`${name}\` | ${from.map((state) => `\`${state}\``).join(", ")} | \`${to}\` |`,
    ),
  ].join("\n");
}

/** The page with the parts that the code knows written anew, each between two comments that name it. */
export function reliabilityPage(written: string): string {
  const parts: Readonly<Record<string, string>> = {
    states: `${stateDiagram()}\n\n${stateTable()}`,
    matrix: verdictTable(CRASH_MATRIX),
  };
  return Object.entries(parts).reduce((page, [name, text]) => {
    const [begin, end] = [`<!-- ${name} -->`, `<!-- end of ${name} -->`];
    const [from, to] = [page.indexOf(begin), page.indexOf(end)];
    if (from < 0 || to < from) throw new Error(`docs/reliability.md has no part '${name}'`);
    return `${page.slice(0, from + begin.length)}\n\n${text}\n\n${page.slice(to)}`;
  }, written);
}
