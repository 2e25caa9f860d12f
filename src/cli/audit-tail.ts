import { z } from "zod";
import { passesByItself } from "../client/errors.js";
import { renderArgv } from "../domain/rendering/render-argv.js";
import { type BrokerClient, BrokerRefusal } from "./broker-client.js";
import { type CliCall, type CliCommand, UsageError } from "./cli-command.js";
import { CALL_OPTIONS, callService, SERVICE_STATUSES } from "./service-call.js";
import { type Line, printLines, stateWord } from "./styled-line.js";

const POLL_MS = 2_000;
const PAGE = 200;
const DEFAULT_LINES = 10;
/** Behind every record that a chain can have. */
const HIGHEST_SEQ = 999_999_999_999_999;

// Of a record only what a line shows: an evidence format of a newer service still has these.
const recordView = z.object({
  seq: z.int(),
  time: z.string(),
  kind: z.string(),
  command_id: z.string(),
  principal: z.string(),
  request: z.object({ argv: z.array(z.string()).nullable() }),
  decision: z.object({ verdict: z.string() }),
  result: z.object({ outcome: z.string() }).nullable(),
});
const pageView = z.object({
  records: z.array(z.object({ hash: z.string(), record: z.unknown() })),
  next_cursor: z.string().nullable(),
});

type Page = z.infer<typeof pageView>;
type Chained = Page["records"][number];

const seqOf = ({ record }: Chained): number => z.object({ seq: z.int() }).parse(record).seq;

function recordLine({ record }: Chained): Line {
  const { seq, time, kind, command_id, principal, request, decision, result } = recordView.parse(record);
  const argv = request.argv === null ? "(argv is not recorded)" : renderArgv(request.argv).summary;
  const end = kind === "denied" ? "denied" : (result?.outcome ?? decision.verdict);
  return [`${seq}  ${time}  ${kind}  ${command_id}  ${principal}  `, stateWord(end), `  ${argv}`];
}

function wholeNumber(call: CliCall, name: string, max: number): number | null {
  const text = call.values[name];
  if (text === undefined) return null;
  const value = /^[0-9]{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value <= max)) throw new UsageError(`--${name} must be a whole number from 0 to ${max}`);
  return value;
}

/** `bailiff audit tail`: follows the tenant's evidence from its last records, or from behind one that was seen, until Ctrl-C. */
export function createAuditTail(deps: {
  readonly fetch: typeof fetch;
  /** Ends early where the signal is aborted. */
  readonly pause: (ms: number, signal: AbortSignal) => Promise<void>;
}): CliCommand {
  const pageFrom = async (client: BrokerClient, seq: number, limit: number): Promise<Page> =>
    pageView.parse(await client.call("GET", `/v1/audit?cursor=${seq}&limit=${limit}`));

  /** The first number that no record has yet, in some forty questions whatever the length of the chain. */
  const endOfChain = async (client: BrokerClient): Promise<number> => {
    let taken = 0;
    let free = 1;
    for (;;) {
      const [first] = (await pageFrom(client, free, 1)).records;
      if (first === undefined) break;
      taken = seqOf(first);
      free = Math.min(HIGHEST_SEQ, taken * 2);
      if (taken >= HIGHEST_SEQ) break;
    }
    while (free - taken > 1) {
      const middle = taken + Math.floor((free - taken) / 2);
      const [first] = (await pageFrom(client, middle, 1)).records;
      if (first === undefined) free = middle;
      else taken = seqOf(first);
    }
    return free;
  };

  return {
    name: "audit tail",
    summary: "Show the tenant's newest records and those to come, until Ctrl-C.",
    operands: null,
    operandsAfterDashes: false,
    options: {
      ...CALL_OPTIONS,
      after: {
        value: "SEQ",
        summary: "Begin behind the record of this number, as where an earlier call ended.",
      },
      lines: { value: "N", summary: `Without --after: begin with so many records (${DEFAULT_LINES}).` },
      json: { value: null, summary: "Print each record as a line of JSON, with its hash." },
    },
    statuses: SERVICE_STATUSES,
    async run(call) {
      const { world, switches } = call;
      const after = wholeNumber(call, "after", HIGHEST_SEQ - 1);
      const lines = wholeNumber(call, "lines", 10_000);
      if (after !== null && lines !== null) throw new UsageError("takes --after or --lines, not both");
      const over = new AbortController();
      const release = world.onInterrupt(() => over.abort());
      let hasAnswered = false;
      let isAway = false;
      const follow = async (client: BrokerClient) => {
        let next =
          after === null ? Math.max(1, (await endOfChain(client)) - (lines ?? DEFAULT_LINES)) : after + 1;
        while (!over.signal.aborted) {
          const page = await pageFrom(client, next, PAGE).catch((error: unknown) => {
            // Only what may pass by itself: a key that may not read will not either the next time.
            if (!hasAnswered || !(error instanceof BrokerRefusal) || !mayPass(error)) throw error;
            if (!isAway) world.stderr.write("bailiff: the service does not answer; it is asked again\n");
            isAway = true;
            return null;
          });
          if (page !== null) {
            isAway = false;
            hasAnswered = true;
            if (switches.has("json"))
              for (const chained of page.records) world.stdout.write(`${JSON.stringify(chained)}\n`);
            else printLines(world, page.records.map(recordLine));
            const last = page.records.at(-1);
            if (last !== undefined) next = seqOf(last) + 1;
            if (page.next_cursor !== null) continue;
          }
          await deps.pause(POLL_MS, over.signal);
        }
        if (world.stderr.isTerminal)
          world.stderr.write(`bailiff: to go on from here: bailiff audit tail --after ${next - 1}\n`);
        return null;
      };
      try {
        const quiet = { ...call, switches: new Set<string>() };
        return await callService(quiet, deps.fetch, follow, () => []);
      } finally {
        release();
      }
    },
  };
}

function mayPass({ code }: BrokerRefusal): boolean {
  return code === null || passesByItself(code);
}
