import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import type { CommandSummaryWire } from "../../../console/src/api/wire.js";
import {
  appendOlder,
  mergeNewest,
  NO_COMMANDS,
  release,
} from "../../../console/src/commands/merge-commands.js";
import { addSample, plotPoints, quantile, type Sample } from "../../../console/src/fleet/history.js";
import { findRules, summarizePolicy } from "../../../console/src/policy/rule-rows.js";
import { readEventMessages } from "../../../src/client/event-messages.js";

const command = (id: string) => ({ command_id: id }) as CommandSummaryWire;
const page = (ids: string, next: string | null = null) => ({
  commands: [...ids].map(command),
  next_cursor: next,
});
const ids = (list: readonly CommandSummaryWire[]) => list.map(({ command_id }) => command_id).join("");

describe("the list of commands", () => {
  it("takes new ones in on top, or holds them back while somebody is in it", () => {
    const list = mergeNewest(NO_COMMANDS, page("cba", "x"), true);
    expect([ids(list.shown), list.next]).toEqual(["cba", "x"]);
    const held = mergeNewest(list, page("edc"), true);
    expect([ids(held.shown), ids(held.held)]).toEqual(["cba", "ed"]);
    const more = mergeNewest(held, page("fed"), true);
    expect([ids(more.shown), ids(more.held)]).toEqual(["cba", "fed"]);
    expect(ids(release(more).shown)).toBe("fedcba");
    expect(ids(mergeNewest(held, page("fed"), false).shown)).toBe("fedcba");
    const older = appendOlder(list, page("a09"));
    expect([ids(older.shown), older.next]).toEqual(["cba09", null]);
  });
});

describe("an event stream", () => {
  it("is read message by message, wherever its bytes are cut", async () => {
    const bytes = new TextEncoder().encode(
      'retry: 1000\n\n:\n\nevent: queued\nid: 3\ndata: {"a":"\u00e9"}\n\nid: 6\nevent: finished\ndata: 1\ndata: 2\n\ncut',
    );
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
        controller.close();
      },
    });
    const messages = [];
    for await (const message of readEventMessages(body)) messages.push(message);
    expect(messages).toEqual([
      { id: "3", event: "queued", data: '{"a":"\u00e9"}' },
      { id: "6", event: "finished", data: "1\n2" },
    ]);
  });
});

describe("the policy's rules", () => {
  const document: unknown = parse(
    readFileSync(new URL("../../../policy/default.yaml", import.meta.url), "utf8"),
  );
  const summary = summarizePolicy(document);

  it("are those of the policy that ships, each with its pattern and words", () => {
    expect(summary.fallback).toBe("ask");
    expect(summary.rules.length).toBeGreaterThan(30);
    for (const rule of summary.rules) {
      expect(rule.pattern.length, rule.id).toBeGreaterThan(0);
      expect(rule.pattern.join(" "), rule.id).not.toContain("?".repeat(2));
      expect([rule.id, rule.reason].every((text) => text !== "")).toBe(true);
    }
    expect(findRules(summary.rules, "DELETE  many").map(({ id }) => id)).toContain("delete-many");
    expect(findRules(summary.rules, "no such words")).toEqual([]);
  });

  it("are none where the document is not as expected", () => {
    for (const odd of [null, undefined, [], "x", { rules: 7 }])
      expect(summarizePolicy(odd).rules).toEqual([]);
  });
});

describe("the fleet's plots", () => {
  it("remember a bounded past and stay within their frame", () => {
    let history: readonly Sample[] = [];
    for (let i = 0; i < 500; i += 1)
      history = addSample(history, { atMs: i, waiting: i, active: 0, approvals: 0 });
    expect([history.length, history.at(-1)?.atMs]).toEqual([240, 499]);
    expect(plotPoints([0, 5, 10], { width: 100, height: 10, atLeast: 4 })).toBe("0,10 50,5 100,0");
    expect(plotPoints([1], { width: 100, height: 10, atLeast: 4 })).toBe("100,7.5");
    expect(plotPoints([], { width: 100, height: 10, atLeast: 4 })).toBe("");
    expect([quantile([], 0.5), quantile([3, 1, 2], 0.5), quantile([1, 2], 0.95)]).toEqual([null, 2, 2]);
  });
});
