import { describe, expect, it } from "vitest";
import { callWithDeadline } from "../../../../src/adapters/docker/call-with-deadline.js";

const bounded = { operation: "start" as const, deadlineMs: 20, signal: null };
const never = () => new Promise<never>(() => {});

describe("a bounded engine call", () => {
  it("ends at its deadline though the callee never answers nor listens (FB-22)", async () => {
    await expect(callWithDeadline({ ...bounded, call: never })).rejects.toMatchObject({
      name: "RuntimeFault",
      code: "deadline",
      operation: "start",
    });
  });

  it("tells the callee at the deadline", async () => {
    let told = false;
    const call = (signal: AbortSignal) => {
      signal.addEventListener("abort", () => {
        told = true;
      });
      return never();
    };
    await expect(callWithDeadline({ ...bounded, call })).rejects.toThrow();
    expect(told).toBe(true);
  });

  it("never aborts after a success: the value may be a live connection", async () => {
    let seen: AbortSignal | undefined;
    const caller = new AbortController();
    const call = async (signal: AbortSignal) => {
      seen = signal;
      return "value";
    };
    await expect(callWithDeadline({ ...bounded, signal: caller.signal, call })).resolves.toBe("value");
    caller.abort();
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(seen?.aborted).toBe(false);
  });

  it("gives back what arrives too late", async () => {
    const late: string[] = [];
    let answer: (value: string) => void = () => {};
    const call = () =>
      new Promise<string>((resolve) => {
        answer = resolve;
      });
    await expect(
      callWithDeadline({ ...bounded, call, dispose: (value) => late.push(value) }),
    ).rejects.toThrow();
    answer("late");
    await Promise.resolve();
    await Promise.resolve();
    expect(late).toEqual(["late"]);
  });

  it("swallows what fails too late", async () => {
    let fail: (why: Error) => void = () => {};
    const call = () =>
      new Promise<string>((_, reject) => {
        fail = reject;
      });
    await expect(callWithDeadline({ ...bounded, call })).rejects.toMatchObject({ code: "deadline" });
    fail(new Error("late"));
    // An unhandled rejection would fail the whole test file.
    await new Promise((resolve) => setImmediate(resolve));
  });

  it("ends when its caller gives up, before or during the call", async () => {
    const caller = new AbortController();
    const pending = callWithDeadline({ ...bounded, deadlineMs: 60_000, signal: caller.signal, call: never });
    caller.abort();
    await expect(pending).rejects.toMatchObject({ code: "not_ready" });
    let called = false;
    const call = async () => {
      called = true;
    };
    await expect(callWithDeadline({ ...bounded, signal: caller.signal, call })).rejects.toThrow("given up");
    expect(called).toBe(false);
  });

  it("turns what the callee throws into a fault", async () => {
    const call = () => {
      throw Object.assign(new Error("no"), { statusCode: 500 });
    };
    await expect(callWithDeadline({ ...bounded, call })).rejects.toMatchObject({ code: "refused" });
  });
});
