import { z } from "zod";
import type { CliCommand } from "./cli-command.js";
import {
  CALL_OPTIONS,
  callService,
  moreLine,
  oneOperand,
  queryOf,
  SERVICE_STATUSES,
} from "./service-call.js";

const sessionView = z.object({
  session_id: z.string(),
  workspace_id: z.string(),
  profile: z.string(),
  cwd: z.string(),
});
const pageView = z.object({ sessions: z.array(sessionView), next_cursor: z.string().nullable() });

const path = (id: string) => `/v1/sessions/${encodeURIComponent(id)}`;

/** `bailiff sessions ls|show|delete`. */
export function createSessionsCommands(deps: { readonly fetch: typeof fetch }): readonly CliCommand[] {
  const common = { operandsAfterDashes: false, statuses: SERVICE_STATUSES };
  return [
    {
      ...common,
      name: "sessions ls",
      summary: "List sessions, newest first: id, workspace, profile, directory.",
      operands: null,
      options: {
        ...CALL_OPTIONS,
        limit: { value: "N", summary: "At most so many." },
        cursor: { value: "TEXT", summary: "Go on behind the page before." },
      },
      async run(call) {
        const query = queryOf(call, ["limit", "cursor"]);
        return callService(
          call,
          deps.fetch,
          (client) => client.call("GET", `/v1/sessions${query}`),
          (answer) => {
            const page = pageView.parse(answer);
            const lines = page.sessions.map(
              ({ session_id, workspace_id, profile, cwd }) =>
                `${session_id}  ${workspace_id}  ${profile}  ${JSON.stringify(cwd)}`,
            );
            return [...lines, ...moreLine(page.next_cursor)];
          },
        );
      },
    },
    {
      ...common,
      name: "sessions show",
      summary: "Show a session.",
      operands: "ID",
      options: CALL_OPTIONS,
      async run(call) {
        const id = oneOperand(call, "the session's id");
        return callService(
          call,
          deps.fetch,
          (client) => client.call("GET", path(id)),
          (answer) => JSON.stringify(answer, null, 2).split("\n"),
        );
      },
    },
    {
      ...common,
      name: "sessions delete",
      summary: "Remove a session; what it has waiting is cancelled.",
      operands: "ID",
      options: CALL_OPTIONS,
      async run(call) {
        const id = oneOperand(call, "the session's id");
        return callService(
          call,
          deps.fetch,
          (client) => client.call("DELETE", path(id)),
          () => [`${id} deleted`],
        );
      },
    },
  ];
}
