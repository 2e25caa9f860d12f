import { z } from "zod";
import type { BrokerClient } from "./broker-client.js";
import type { CliCommand } from "./cli-command.js";
import {
  CALL_OPTIONS,
  callService,
  moreLine,
  oneOperand,
  queryOf,
  SERVICE_STATUSES,
} from "./service-call.js";
import { type Line, printLines, stateWord } from "./styled-line.js";

// A newer service may answer with more members: the client reads the ones it knows.
const renderingView = z.object({ argv_summary: z.string(), text: z.string() });
const approvalView = z.object({
  approval_id: z.string(),
  state: z.string(),
  command_id: z.string(),
  requested_by: z.string(),
  expires_at: z.string().nullable(),
  decided_by: z.string().nullable(),
  note: z.string().nullable(),
  rendering: renderingView.nullable(),
});
const pageView = z.object({ approvals: z.array(approvalView), next_cursor: z.string().nullable() });

type ApprovalView = z.infer<typeof approvalView>;

const WATCH_MS = 2_000;

const path = (id: string) => `/v1/approvals/${encodeURIComponent(id)}`;

function listLine(approval: ApprovalView): Line {
  const argv = approval.rendering?.argv_summary ?? "(long argv: show it)";
  return [
    `${approval.approval_id}  `,
    stateWord(approval.state, 9),
    `  ${approval.expires_at ?? "-"}  ${approval.requested_by}  ${argv}`,
  ];
}

function showLines(answer: unknown): readonly Line[] {
  const approval = approvalView.parse(answer);
  const decided = approval.decided_by === null ? [] : [`decided by   ${approval.decided_by}`];
  const note = approval.note === null ? [] : [`note         ${approval.note}`];
  return [
    `approval     ${approval.approval_id}`,
    ["state        ", stateWord(approval.state)],
    `command      ${approval.command_id}`,
    `requested by ${approval.requested_by}`,
    `until        ${approval.expires_at ?? "-"}`,
    ...decided,
    ...note,
    // The service has made it safe and bounded; line ends in it are its own.
    ...(approval.rendering?.text ?? "").split("\n"),
  ];
}

/** `bailiff approvals ls|show|approve|deny|watch`: the reviewer's side of the service. */
export function createApprovalsCommands(deps: {
  readonly fetch: typeof fetch;
  /** Ends early where the signal is aborted. */
  readonly pause: (ms: number, signal: AbortSignal) => Promise<void>;
}): readonly CliCommand[] {
  const decide = (decision: "approve" | "deny", summary: string): CliCommand => ({
    name: `approvals ${decision}`,
    summary,
    operands: "ID",
    operandsAfterDashes: false,
    options: { ...CALL_OPTIONS, note: { value: "TEXT", summary: "Kept with the approval." } },
    statuses: SERVICE_STATUSES,
    async run(call) {
      const id = oneOperand(call, "the approval's id");
      const note = call.values["note"];
      const body = { decision, ...(note === undefined ? {} : { note }) };
      return callService(
        call,
        deps.fetch,
        (client) => client.call("POST", `${path(id)}/decision`, body),
        (answer) => {
          const { approval_id, state } = approvalView.parse(answer);
          return [`${approval_id} ${state}`];
        },
      );
    },
  });

  return [
    {
      name: "approvals ls",
      summary: "List approvals, newest first: id, state, end of its time, who asked, argv.",
      operands: null,
      operandsAfterDashes: false,
      options: {
        ...CALL_OPTIONS,
        state: { value: "STATE", summary: "Only in this state; pending unless told, all for every one." },
        limit: { value: "N", summary: "At most so many." },
        cursor: { value: "TEXT", summary: "Go on behind the page before." },
      },
      statuses: SERVICE_STATUSES,
      async run(call) {
        const state = call.values["state"] ?? "pending";
        const { state: _all, ...others } = call.values;
        const wanted = { ...call, values: state === "all" ? others : { ...others, state } };
        const query = queryOf(wanted, ["state", "limit", "cursor"]);
        return callService(
          call,
          deps.fetch,
          (client) => client.call("GET", `/v1/approvals${query}`),
          (answer) => {
            const page = pageView.parse(answer);
            return [...page.approvals.map(listLine), ...moreLine(page.next_cursor)];
          },
        );
      },
    },
    {
      name: "approvals show",
      summary: "Show everything that a decision needs.",
      operands: "ID",
      operandsAfterDashes: false,
      options: CALL_OPTIONS,
      statuses: SERVICE_STATUSES,
      async run(call) {
        const id = oneOperand(call, "the approval's id");
        return callService(call, deps.fetch, (client) => client.call("GET", path(id)), showLines);
      },
    },
    decide("approve", "Say yes to exactly this request, once."),
    decide("deny", "Say no: the command ends and never starts."),
    {
      name: "approvals watch",
      summary: "Show what comes to wait for a person, until Ctrl-C.",
      operands: null,
      operandsAfterDashes: false,
      options: CALL_OPTIONS,
      statuses: SERVICE_STATUSES,
      async run(call) {
        const { world, switches } = call;
        const over = new AbortController();
        const release = world.onInterrupt(() => over.abort());
        const seen = new Set<string>();
        const ask = async (client: BrokerClient) => {
          if (world.stderr.isTerminal) world.stderr.write("waiting for approvals; Ctrl-C ends it\n");
          while (!over.signal.aborted) {
            const page = pageView.parse(await client.call("GET", "/v1/approvals?state=pending&limit=200"));
            const now = new Set(page.approvals.map(({ approval_id }) => approval_id));
            for (const approval of page.approvals.toReversed()) {
              if (seen.has(approval.approval_id)) continue;
              const shown = await client.call("GET", path(approval.approval_id));
              if (switches.has("json")) world.stdout.write(`${JSON.stringify(shown)}\n`);
              else printLines(world, [...showLines(shown), ""]);
            }
            seen.clear();
            for (const id of now) seen.add(id);
            await deps.pause(WATCH_MS, over.signal);
          }
          return null;
        };
        try {
          const quiet = { ...call, switches: new Set<string>() };
          return await callService(quiet, deps.fetch, ask, () => []);
        } finally {
          release();
        }
      },
    },
  ];
}
