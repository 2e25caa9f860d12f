import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openEventStream } from "../../../../src/adapters/http/event-stream.js";
import { BailiffError } from "../../../../src/domain/errors.js";
import { followStream } from "../../../support/event-stream-client.js";
import { completedResult, SLOW_ARGV0 } from "../../../support/http/in-memory-services.js";
import { problemOf } from "../../../support/http/problem-of.js";
import { createTestApp, KEYS, type TestApp } from "../../../support/http/test-app.js";

let edge: TestApp;
let origin: string;
let command: string;
beforeEach(async () => {
  edge = await createTestApp({ eventHeartbeatMs: 20 });
  origin = await edge.app.listen({ host: "127.0.0.1", port: 0 });
  const session = await edge.openSession();
  const url = `/v1/sessions/${session}/commands`;
  command = (await edge.call(KEYS.red, "POST", url, { argv: [SLOW_ARGV0] })).json<{ command_id: string }>()
    .command_id;
});
afterEach(() => edge.app.close());

const path = () => `/v1/commands/${command}/events`;
const follow = (lastEventId?: number) => followStream(`${origin}${path()}`, KEYS.red, lastEventId);
const finish = () =>
  edge.services.change(command, {
    state: "finished",
    finishedAtMs: 1_700_000_000_900,
    result: completedResult("s3cret"),
  });

describe("an event stream", () => {
  it("tells what was and what comes, with output in none of it, and ends behind the end", async () => {
    const stream = await follow();
    expect(stream.headers.get("content-type")).toBe("text/event-stream");
    expect(stream.headers.get("cache-control")).toBe("no-store");
    await stream.until("dispatched");
    edge.services.change(command, { cancelRequested: true });
    await stream.until("cancel_requested");
    finish();
    await stream.ended();
    expect(stream.events.map(({ id, event }) => [id, event])).toEqual([
      ["1", "created"],
      ["3", "queued"],
      ["4", "dispatched"],
      ["5", "cancel_requested"],
      ["6", "finished"],
    ]);
    expect(JSON.parse(stream.events.at(-1)?.data ?? "")).toEqual({
      command_id: command,
      session_id: expect.stringMatching(/^ses_/),
      event: "finished",
      state: "finished",
      outcome: "completed",
      effect: "completed",
      returncode: 0,
      at: "2023-11-14T22:13:20.900Z",
      links: { command: `/v1/commands/${command}`, session: expect.stringMatching(/^\/v1\/sessions\/ses_/) },
    });
    expect(stream.text()).not.toContain("s3cret");
    expect(edge.services.openStreams()).toBe(0);
  });

  it("goes on behind the last event that was received (FB-11)", async () => {
    const first = await follow();
    await first.until("queued");
    first.leave();
    const second = await follow(3);
    await second.until("dispatched");
    second.leave();
    finish();
    const third = await follow(4);
    await third.ended();
    expect(second.events.map((event) => event.id)).toEqual(["4"]);
    expect(third.events.map((event) => event.id)).toEqual(["6"]);
    const over = await edge.call(KEYS.red, "GET", path(), undefined, { "last-event-id": "6" });
    expect([over.statusCode, over.body]).toEqual([204, ""]);
  });

  it("keeps itself alive by comments", async () => {
    const stream = await follow();
    await expect.poll(() => stream.text().includes("\n\n:\n\n:\n\n"), { timeout: 10_000 }).toBe(true);
    expect(stream.text().startsWith("retry: 1000\n\n")).toBe(true);
    stream.leave();
  });

  it("ends when the client leaves and when the service closes, and neither cancels anything", async () => {
    const leaving = await follow();
    const staying = await follow();
    expect(edge.services.openStreams()).toBe(2);
    leaving.leave();
    await expect.poll(() => edge.services.openStreams(), { timeout: 10_000 }).toBe(1);
    const closed = edge.app.close();
    await staying.ended();
    await closed;
    expect(edge.services.commands.get(command)).toMatchObject({
      state: "dispatched",
      cancelRequested: false,
    });
    expect(edge.logLines.filter((line) => line.level === "error")).toEqual([]);
  });

  it("is another tenant's 404, and takes no id that is not its own", async () => {
    expect(problemOf(await edge.call(KEYS.blue, "GET", path())).code).toBe("not_found");
    expect(problemOf(await edge.call(null, "GET", path())).code).toBe("unauthenticated");
    for (const id of ["7", "-1", "1.0", "01", "x", "4, 5", "\u00e9"]) {
      const answer = await edge.call(KEYS.red, "GET", path(), undefined, { "last-event-id": id });
      expect(problemOf(answer).errors).toEqual([
        { path: "/last-event-id", message: "must be an id of this stream" },
      ]);
    }
  });

  it("is refused with a time to come back when there are too many", async () => {
    edge.services.failNextWith(new BailiffError("quota_exceeded", "too many", { retryAfterMs: 5_000 }));
    const answer = await edge.call(KEYS.red, "GET", path());
    expect(problemOf(answer).code).toBe("quota_exceeded");
    expect(answer.headers["retry-after"]).toBe("5");
  });
});

describe("the buffer of a stream", () => {
  it("is bounded: a client that does not read is cut off", async () => {
    const stream = openEventStream(60_000);
    let failure: Error | null = null;
    stream.body.once("error", (error) => {
      failure = error;
    });
    const message = `data: ${"x".repeat(1_000)}\n\n`;
    let sent = 0;
    while (!stream.body.destroyed && sent < 1_000) {
      stream.send(message);
      sent += 1;
    }
    expect(sent).toBeLessThan(25);
    expect(stream.body.readableLength).toBeLessThan(20_000);
    await expect.poll(() => failure).not.toBeNull();
    stream.send(message);
    stream.end();
  });
});
