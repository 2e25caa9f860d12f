import { z } from "zod";
import { renderArgv } from "../domain/rendering/render-argv.js";
import type { CliCommand } from "./cli-command.js";
import {
  CALL_OPTIONS,
  callService,
  moreLine,
  oneOperand,
  queryOf,
  SERVICE_STATUSES,
} from "./service-call.js";
import { type Line, stateWord } from "./styled-line.js";

const commandView = z.object({
  command_id: z.string(),
  session_id: z.string(),
  state: z.string(),
  outcome: z.string().nullable(),
  effect: z.string().nullable(),
  returncode: z.number().nullable(),
  created_at: z.string(),
  argv: z.array(z.string()).nullable(),
});
const pageView = z.object({ commands: z.array(commandView), next_cursor: z.string().nullable() });

type CommandView = z.infer<typeof commandView>;

const path = (id: string) => `/v1/commands/${encodeURIComponent(id)}`;

function listLine(command: CommandView): Line {
  const end = command.outcome ?? command.state;
  const argv = command.argv === null ? "(long argv: show it)" : renderArgv(command.argv).summary;
  return [`${command.command_id}  ${command.created_at}  `, stateWord(end), `  ${argv}`];
}

function showLines(answer: unknown): readonly Line[] {
  const command = commandView.parse(answer);
  return [
    `command     ${command.command_id}`,
    `session     ${command.session_id}`,
    `state       ${command.state}`,
    ["outcome     ", stateWord(command.outcome ?? "-")],
    `effect      ${command.effect ?? "-"}`,
    `returncode  ${command.returncode ?? "-"}`,
    `argv        ${renderArgv(command.argv ?? []).text}`,
  ];
}

/** `bailiff commands ls|show|cancel`. */
export function createCommandsCommands(deps: { readonly fetch: typeof fetch }): readonly CliCommand[] {
  const one = (name: string, summary: string, method: string, suffix: string): CliCommand => ({
    name: `commands ${name}`,
    summary,
    operands: "ID",
    operandsAfterDashes: false,
    options: CALL_OPTIONS,
    statuses: SERVICE_STATUSES,
    async run(call) {
      const id = oneOperand(call, "the command's id");
      return callService(
        call,
        deps.fetch,
        (client) => client.call(method, `${path(id)}${suffix}`),
        showLines,
      );
    },
  });
  return [
    {
      name: "commands ls",
      summary: "List commands, newest first: id, time, how it stands, argv.",
      operands: null,
      operandsAfterDashes: false,
      options: {
        ...CALL_OPTIONS,
        session: { value: "ID", summary: "Only of this session." },
        state: { value: "STATE", summary: "Only in this state." },
        limit: { value: "N", summary: "At most so many." },
        cursor: { value: "TEXT", summary: "Go on behind the page before." },
      },
      statuses: SERVICE_STATUSES,
      async run(call) {
        const query = queryOf(call, ["session", "state", "limit", "cursor"]);
        return callService(
          call,
          deps.fetch,
          (client) => client.call("GET", `/v1/commands${query}`),
          (answer) => {
            const page = pageView.parse(answer);
            return [...page.commands.map(listLine), ...moreLine(page.next_cursor)];
          },
        );
      },
    },
    one("show", "Show how a command stands; --json shows all of it.", "GET", ""),
    one("cancel", "Cancel a command: it never starts, or it is killed.", "POST", "/cancel"),
  ];
}
