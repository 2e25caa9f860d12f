import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createPinoLog } from "../../../../src/adapters/telemetry/pino-log.js";

function logged(level: "debug" | "info" | "silent" = "info") {
  const lines: string[] = [];
  const log = createPinoLog({
    level,
    base: { deployment: "d" },
    destination: { write: (line) => lines.push(line) },
  });
  return { log, lines, last: () => JSON.parse(lines.at(-1) ?? "{}") as Record<string, unknown> };
}

const FORBIDDEN = new Set([0x7f, 0x85, 0x9b, 0x200b, 0x200f, 0x2028, 0x202e, 0xfeff]);

describe("a log line", () => {
  it("is one JSON object with level, time, message and the fields of its parents", () => {
    const { log, lines, last } = logged();
    log.child({ command_id: "cmd_1" }).info({ outcome: "completed" }, "command finished");
    expect(lines).toHaveLength(1);
    expect(last()).toEqual({
      level: "info",
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      deployment: "d",
      command_id: "cmd_1",
      outcome: "completed",
      msg: "command finished",
    });
  });

  it.each(["info", "warn", "error"] as const)("at %s never shows argv or output, however deep", (level) => {
    const { log, lines } = logged("debug");
    log[level]({ argv: ["hunter2"], request: { ARGV: ["hunter2"], list: [{ stdout: "hunter2" }] } }, "x");
    log.child({ argv: ["hunter2"], environment: { A: "hunter2" } })[level]({}, "x");
    expect(lines.join("")).not.toContain("hunter2");
    expect(lines).toHaveLength(2);
  });

  it("shows argv at debug, and not where debug is off", () => {
    const on = logged("debug");
    on.log.debug({ argv: ["ls"] }, "x");
    expect(on.last().argv).toEqual(["ls"]);
    const off = logged("info");
    off.log.debug({ argv: ["ls"] }, "x");
    expect(off.lines).toEqual([]);
  });

  it.each([
    "authorization",
    "Authorization",
    "cookie",
    "bearer",
    "token",
    "password",
    "secret",
    "apiKey",
    "fence",
  ])("never shows the field %s, at any level or depth", (key) => {
    const { log, lines } = logged("debug");
    for (const level of ["debug", "info", "warn", "error"] as const) {
      log[level]({ [key]: "hunter2", headers: { [key]: "hunter2" }, a: { b: [{ [key]: "hunter2" }] } }, "x");
    }
    expect(lines.join("")).not.toContain("hunter2");
  });

  it("describes an error and its causes, and nothing else that hangs on it", () => {
    const { log, last } = logged();
    const cause = Object.assign(new Error("inner"), {
      code: "ECONNREFUSED",
      config: { password: "hunter2" },
    });
    log.error({ err: new Error("outer", { cause }), deep: { err: cause } }, "x");
    expect(last().err).toEqual({
      name: "Error",
      message: "outer",
      stack: expect.any(String),
      cause: { name: "Error", message: "inner", code: "ECONNREFUSED", stack: expect.any(String) },
    });
    expect(JSON.stringify(last())).not.toContain("hunter2");
  });

  it("bounds depth and never writes bytes", () => {
    const { log, last } = logged();
    const loop: Record<string, unknown> = {};
    loop["self"] = loop;
    log.info({ loop, bytes: new Uint8Array(9) }, "x");
    expect(last().bytes).toBe("[9 bytes]");
  });

  it("stays one line without a control or bidi character for any text, and says the same", () => {
    const hostile = fc.string({
      unit: fc.oneof(
        fc.constantFrom("\n", "\r", "\u001b", "\0", "\u0085", "\u202e", "\u2028", "\u200b", "\ufeff", '"'),
        fc.string({ unit: "binary", minLength: 1, maxLength: 1 }),
      ),
    });
    fc.assert(
      fc.property(hostile, (text) => {
        const { log, lines, last } = logged();
        log.info({ path: text }, text);
        expect(lines).toHaveLength(1);
        const shown = [...(lines[0] ?? "").slice(0, -1)].map((char) => char.codePointAt(0) ?? 0);
        expect(shown.filter((code) => code < 0x20 || FORBIDDEN.has(code))).toEqual([]);
        expect(last()).toMatchObject({ path: text, msg: text });
      }),
    );
  });
});
