import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createAuditTail } from "../../../src/cli/audit-tail.js";
import { runCommandLine } from "../../../src/cli/command-line.js";
import { createCommandsCommands } from "../../../src/cli/commands-commands.js";
import { createWorkersCommand } from "../../../src/cli/workers-command.js";
import { evidenceOf } from "../../../src/domain/evidence/evidence-of.js";
import {
  type ChainedRecord,
  chainRecord,
  EMPTY_CHAIN,
} from "../../../src/domain/evidence/evidence-record.js";
import { createCliWorld } from "../../support/cli-world.js";
import { FULL_TERMS, finishedCommand } from "../../support/evidence.js";
import { createTestApp, KEYS, type TestApp } from "../../support/http/test-app.js";

let edge: TestApp;
let url: string;
beforeEach(async () => {
  edge = await createTestApp();
  url = await edge.app.listen({ host: "127.0.0.1", port: 0 });
});
afterEach(() => edge.app.close());

async function bailiff(
  args: readonly string[],
  more: {
    key?: string;
    env?: Record<string, string>;
    terminal?: boolean;
    fetch?: typeof fetch;
    onPause?: (round: number, interrupt: () => void) => void;
  } = {},
) {
  const world = createCliWorld({
    env: { BAILIFF_URL: url, BAILIFF_API_KEY: more.key ?? KEYS.admin, ...more.env },
    terminal: more.terminal ?? false,
  });
  let rounds = 0;
  const pause = async () => {
    rounds += 1;
    if (more.onPause === undefined) world.interrupt();
    else more.onPause(rounds, world.interrupt);
  };
  const deps = { fetch: more.fetch ?? fetch };
  const commands = [
    createWorkersCommand(deps),
    createAuditTail({ ...deps, pause }),
    ...createCommandsCommands(deps),
  ];
  const status = await runCommandLine({ commands, version: "0", args, world });
  return { status, out: world.out(), err: world.err() };
}

describe("bailiff workers", () => {
  it("shows workers, queues and commands, a line each", async () => {
    const { status, out } = await bailiff(["workers"]);
    expect(status).toBe(0);
    expect(out.split("\n").map((line) => line.replace(/ {2}host .*/, ""))).toEqual([
      "worker    wrk_a  alive     1 of 4 running  2 warm  pools default",
      "worker    wrk_b  draining  1 of 4 running  2 warm  pools default",
      "worker    wrk_c  silent    1 of 4 running  2 warm  pools default",
      "queue     default  7 waiting  1 active  0 delayed  1 worker(s)",
      "commands  2 awaiting approval, 7 queued, 1 dispatched",
      "",
    ]);
    expect(JSON.parse((await bailiff(["workers", "--json"])).out).commands.queued).toBe(7);
    expect((await bailiff(["workers"], { key: KEYS.red })).status).toBe(5);
  });

  it("has colours on a terminal alone, and not where they are not wanted", async () => {
    expect((await bailiff(["workers"], { terminal: true })).out).toContain("\u001b[32malive   \u001b[0m");
    for (const env of [{ NO_COLOR: "1" }, { TERM: "dumb" }]) {
      expect((await bailiff(["workers"], { terminal: true, env })).out).not.toContain("\u001b");
    }
    expect((await bailiff(["workers"])).out).not.toContain("\u001b");
  });
});

describe("a list", () => {
  it("shows hostile text of the service as one line without a control character", async () => {
    const hostile = { ...(await fleet()), queues: [] };
    hostile.workers[0].host = "h\n\u001b[31mcommands\u202e";
    const answering = async () => Response.json(hostile);
    const { out } = await bailiff(["workers"], { fetch: answering as typeof fetch, terminal: true });
    expect(out.split("\n")).toHaveLength(5);
    expect(out).toContain("host h\\u000a\\u001b[31mcommands\\u202e");
  });

  // biome-ignore lint/suspicious/noExplicitAny: a test changes members of an answer whose shape it knows.
  const fleet = async (): Promise<any> => (await edge.call(KEYS.admin, "GET", "/v1/workers")).json();
});

describe("bailiff audit tail", () => {
  /** A chain of that many records behind number `first`, answered as the service answers. */
  const chain = (count: number, first = 0) => {
    const records: ChainedRecord[] = [];
    let head = { ...EMPTY_CHAIN, seq: first };
    const grow = (more: number) => {
      for (let i = 0; i < more; i += 1) {
        const command = finishedCommand("acme");
        const record = { ...command, request: { ...command.request, argv: ["echo", "a\u202e\u001b[2Jb\n"] } };
        const event = { kind: "finished" as const, atMs: 1_800_000_000_000, record, approval: null };
        const next = chainRecord(head, evidenceOf(event, FULL_TERMS));
        records.push(next);
        head = { seq: next.record.seq, hash: next.hash };
      }
    };
    grow(count);
    let asked = 0;
    const answering = (async (target: URL) => {
      asked += 1;
      const cursor = Number(target.searchParams.get("cursor"));
      const limit = Number(target.searchParams.get("limit"));
      const behind = records.filter(({ record }) => record.seq >= cursor);
      const page = behind.slice(0, limit);
      const last = page.at(-1)?.record.seq ?? cursor;
      return Response.json({
        records: page,
        checkpoints: [],
        next_cursor: behind.length > limit ? String(last + 1) : null,
      });
    }) as typeof fetch;
    return { fetch: answering, grow, asked: () => asked };
  };
  const seqs = (out: string) =>
    out.split("\n").flatMap((line) => (line === "" ? [] : [Number(line.split("  ")[0])]));

  it("begins with the last records, follows, and says how to go on", async () => {
    const growing = chain(25);
    const { status, out, err } = await bailiff(["audit", "tail", "--lines", "3"], {
      fetch: growing.fetch,
      terminal: true,
      env: { NO_COLOR: "1" },
      onPause: (round, interrupt) => (round < 3 ? growing.grow(round) : interrupt()),
    });
    expect(status).toBe(0);
    expect(seqs(out)).toEqual([23, 24, 25, 26, 27, 28]);
    expect(out).toContain('["echo","a\\u202e\\u001b[2Jb\\n"]');
    for (const raw of ["\u001b", "\u202e"]) expect(out).not.toContain(raw);
    expect(err).toBe("bailiff: to go on from here: bailiff audit tail --after 28\n");
  });

  it("goes on behind a record without leaving one out or showing one twice", async () => {
    const { fetch } = chain(450);
    const all = seqs((await bailiff(["audit", "tail", "--after", "0"], { fetch })).out);
    expect(all).toEqual(Array.from({ length: 450 }, (_, i) => i + 1));
    expect(seqs((await bailiff(["audit", "tail", "--after", "448"], { fetch })).out)).toEqual([449, 450]);
  });

  it("finds the end of a chain whose beginning was cut off, in few questions", async () => {
    const cut = chain(30, 1_000_000);
    expect(seqs((await bailiff(["audit", "tail", "--lines", "2"], { fetch: cut.fetch })).out)).toEqual([
      1_000_029, 1_000_030,
    ]);
    expect(cut.asked()).toBeLessThan(60);
    expect((await bailiff(["audit", "tail"], { fetch: chain(0).fetch })).out).toBe("");
  });

  it("prints a line of JSON for each record where that is asked for", async () => {
    const { out } = await bailiff(["audit", "tail", "--json"], { fetch: chain(2).fetch });
    const lines = out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines.map(({ record }) => record.seq)).toEqual([1, 2]);
    expect(lines[0].hash).toMatch(/^[0-9a-f]{64}$/);
  });

  it("bears a service that goes away, says so once, and ends where it is refused", async () => {
    const whole = chain(2);
    let fault: "none" | "away" | "refused" = "none";
    const faulty = (async (target: URL) => {
      if (fault === "away") throw new TypeError("fetch failed");
      if (fault === "refused")
        return Response.json({ code: "unauthenticated", detail: "no" }, { status: 401 });
      return whole.fetch(target);
    }) as typeof fetch;
    const { status, out, err } = await bailiff(["audit", "tail"], {
      fetch: faulty,
      onPause: (round) => {
        if (round === 4) whole.grow(1);
        fault = round < 4 ? "away" : round === 4 ? "none" : "refused";
      },
    });
    expect([status, seqs(out)]).toEqual([5, [1, 2, 3]]);
    expect(err).toBe("bailiff: the service does not answer; it is asked again\nbailiff: no\n");
    fault = "away";
    expect((await bailiff(["audit", "tail"], { fetch: faulty })).status).toBe(1);
  });

  it.each([
    ["--after", "-1"],
    ["--lines", "x"],
    ["--after", "1", "--lines", "1"],
  ])("refuses %j with 2", async (...args) => {
    expect((await bailiff(["audit", "tail", ...args])).status).toBe(2);
  });
});
