import type { CliCommand } from "../../src/cli/cli-command.js";

/** The table of exit statuses in docs/cli.md, as the commands say it; those that end alike share rows. */
export function exitTable(commands: readonly CliCommand[]): string {
  const groups = new Map<string, { names: string[]; statuses: CliCommand["statuses"] }>();
  for (const { name, statuses } of commands) {
    if (statuses.length === 0) continue;
    const key = JSON.stringify(statuses);
    const group = groups.get(key) ?? { names: [], statuses };
    group.names.push(`\`${name}\``);
    groups.set(key, group);
  }
  const rows = [...groups.values()].flatMap(({ names, statuses }) =>
    statuses.map(
      ([status, meaning], i) =>
        `| ${i === 0 ? names.join(", ") : ""} | ${status} | ${meaning.replaceAll("|", "\\|")} |`,
    ),
  );
  return ["| commands | status | meaning |", "| --- | --- | --- |", ...rows, ""].join("\n");
}

/** One command that docs/cli.md shows, with the status it says. */
export interface ShownCommand {
  readonly line: string;
  readonly status: number;
}

/** The lines of the page's shell blocks, in order. */
export function shownCommands(page: string): readonly ShownCommand[] {
  return [...page.matchAll(/^```sh\n([\s\S]*?)^```/gm)].flatMap(([, block = ""]) =>
    block
      .trim()
      .split("\n")
      .map((text) => {
        const [line = "", status = "0"] = text.split(/ +# ends with /);
        return { line, status: Number(status) };
      }),
  );
}
