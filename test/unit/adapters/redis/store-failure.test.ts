import { describe, expect, it } from "vitest";
import {
  isUnavailable,
  orUnavailable,
  orUnavailableWithin,
} from "../../../../src/adapters/redis/store-failure.js";
import { StoreUnavailable } from "../../../../src/ports/command-store.js";

function reply(message: string): Error {
  const error = new Error(message);
  error.name = "ReplyError";
  return error;
}

describe("a failure of Redis", () => {
  it.each([
    "READONLY You can't write against a read only replica.",
    "OOM command not allowed when used memory > 'maxmemory'.",
    "OOM command not allowed when used memory > 'maxmemory'. script: 0123, on @user_script:90.",
    "ERR Error running script (call to f_0123): @user_script:5: -OOM command not allowed when used memory > 'maxmemory'.",
    "-READONLY You can't write against a read only replica. script: 0123, on @user_script:1.",
    "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.",
    "LOADING Redis is loading the dataset in memory",
    "CLUSTERDOWN The cluster is down",
    "MASTERDOWN Link with MASTER is down",
    "NOREPLICAS Not enough good replicas to write.",
    "BUSY Redis is busy running a script.",
    "NOAUTH Authentication required.",
  ])("counts as unavailable: %s", (message) => {
    expect(isUnavailable(reply(message))).toBe(true);
  });

  it.each([
    "WRONGTYPE Operation against a key holding the wrong kind of value",
    "ERR Error running script (call to f_0123): @user_script:5: user_script:5: attempt to index a nil value",
    "ERR unknown command 'ASKING'",
  ])("is a fault of ours: %s", (message) => {
    expect(isUnavailable(reply(message))).toBe(false);
  });

  it.each([
    new Error("Connection is closed."),
    new Error("Stream isn't writeable and enableOfflineQueue options is false"),
    new Error("Command timed out"),
    Object.assign(new Error("connect"), { code: "ECONNREFUSED" }),
    Object.assign(new Error("Reached the max retries per request limit (which is 0)."), {
      name: "MaxRetriesPerRequestError",
    }),
  ])("of the connection counts as unavailable: %s", (error) => {
    expect(isUnavailable(error)).toBe(true);
  });

  it("becomes StoreUnavailable with its cause, and everything else stays what it is", async () => {
    const cause = reply("LOADING Redis is loading");
    await expect(orUnavailable(() => Promise.reject(cause))).rejects.toMatchObject({
      name: "StoreUnavailable",
      cause,
    });
    const ours = new TypeError("x is not a function");
    await expect(orUnavailable(() => Promise.reject(ours))).rejects.toBe(ours);
    expect(await orUnavailable(async () => 1)).toBe(1);
  });

  it("is also an answer that does not come", async () => {
    await expect(orUnavailableWithin(20, () => new Promise(() => undefined))).rejects.toBeInstanceOf(
      StoreUnavailable,
    );
  });
});
