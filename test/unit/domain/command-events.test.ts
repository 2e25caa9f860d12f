import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { CommandRecord } from "../../../src/domain/command.js";
import { commandEvents, EVENT_IDS } from "../../../src/domain/command-events.js";
import { neverStarted } from "../../../src/domain/outcome.js";
import { unstartedResult } from "../../../src/domain/result.js";
import { completedResult, decisionOf } from "../../support/http/in-memory-services.js";
import { aRecord, aSession } from "../../support/redis-fixtures.js";

const START: CommandRecord = aRecord(aSession(), { createdAtMs: 1_000 });
const names = (record: CommandRecord) => commandEvents(record).map((event) => event.name);

describe("the events of a command", () => {
  it("are those that its record proves", () => {
    const dispatched: CommandRecord = { ...START, state: "dispatched", dispatchedAtMs: 2_000 };
    const cancelled: CommandRecord = { ...dispatched, cancelRequested: true };
    expect(names(START)).toEqual(["created", "queued"]);
    expect(names(dispatched)).toEqual(["created", "queued", "dispatched"]);
    expect(names(cancelled)).toEqual(["created", "queued", "dispatched", "cancel_requested"]);
    expect(
      names({ ...cancelled, state: "finished", finishedAtMs: 3_000, result: completedResult("x") }),
    ).toEqual(["created", "queued", "dispatched", "cancel_requested", "finished"]);
  });

  it("skip what a command skipped: a denial, and an ask that nobody answered", () => {
    const denial = aRecord(aSession(), { state: "finished", decision: decisionOf("deny") });
    expect(names(denial)).toEqual(["created", "finished"]);
    const asked = aRecord(aSession(), { state: "awaiting_approval", decision: decisionOf("ask") });
    expect(names(asked)).toEqual(["created", "awaiting_approval"]);
    const expired: CommandRecord = {
      ...asked,
      state: "finished",
      finishedAtMs: 9,
      result: unstartedResult(neverStarted("approval_expired", null)),
    };
    expect(names(expired)).toEqual(["created", "awaiting_approval", "finished"]);
    expect(names({ ...asked, state: "queued", queuedAtMs: 5 })).toEqual([
      "created",
      "awaiting_approval",
      "queued",
    ]);
  });

  it("say the outcome and the effect only with the end, and never output", () => {
    const ended: CommandRecord = { ...START, state: "finished", result: completedResult("s3cret") };
    const events = commandEvents(ended);
    expect(events.at(-1)).toMatchObject({ outcome: "completed", effect: "completed", returncode: 0 });
    expect(events[0]).toMatchObject({ outcome: null, effect: null, atMs: 1_000 });
    expect(JSON.stringify(events)).not.toContain("s3cret");
  });

  it("keep their ids in every life, so that whoever comes back gets each later one once (FB-11)", () => {
    // Steps as the store takes them; each record is what a reader may see next.
    const steps: readonly ((record: CommandRecord) => CommandRecord)[] = [
      (record) =>
        record.state === "awaiting_approval" ? { ...record, state: "queued", queuedAtMs: 2 } : record,
      (record) =>
        record.state === "queued" ? { ...record, state: "dispatched", dispatchedAtMs: 3 } : record,
      // Given back: dispatched is then told of again by the record, and to nobody who has heard of it.
      (record) =>
        record.state === "dispatched" && !record.cancelRequested
          ? { ...record, state: "queued", dispatchedAtMs: null }
          : record,
      (record) => (record.state === "dispatched" ? { ...record, cancelRequested: true } : record),
      (record) =>
        record.state === "finished" ? record : { ...record, state: "finished", result: completedResult("") },
    ];
    fc.assert(
      fc.property(
        fc.boolean(),
        fc.array(fc.record({ step: fc.nat(steps.length - 1), drops: fc.boolean() }), { maxLength: 20 }),
        (asks, moves) => {
          let record: CommandRecord = asks
            ? { ...START, state: "awaiting_approval", queuedAtMs: null, decision: decisionOf("ask") }
            : START;
          const heard: number[] = [];
          const read = () => {
            for (const event of commandEvents(record))
              if (event.id > (heard.at(-1) ?? 0)) heard.push(event.id);
          };
          for (const { step, drops } of moves) {
            record = steps[step]?.(record) ?? record;
            if (!drops) read();
          }
          read();
          expect(heard).toEqual([...new Set(heard)].sort((a, b) => a - b));
          for (const event of commandEvents(record)) {
            expect(event.id).toBe(EVENT_IDS[event.name]);
            expect(heard).toContain(event.id);
          }
        },
      ),
    );
  });
});
