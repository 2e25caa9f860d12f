import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { submissionFromWire, submissionSchema } from "../../../src/contract/commands.js";
import { fieldFaults } from "../../../src/contract/field-faults.js";
import { DEFAULT_SERVICE_LIMITS } from "../../../src/domain/limits.js";

const limits = DEFAULT_SERVICE_LIMITS;
const schema = submissionSchema(limits);

function faults(body: unknown): string[] {
  const result = schema.safeParse(body);
  if (result.success) return [];
  return fieldFaults(result.error, body, "body").map((fault) => `${fault.path} ${fault.message}`);
}

interface Case {
  readonly id: string;
  readonly layer: string;
  readonly argv: readonly string[];
  readonly verdict: string;
  readonly note?: string;
  readonly body?: Readonly<Record<string, unknown>>;
}

const cases = readFileSync(new URL("../../cases/conformance.jsonl", import.meta.url), "utf8")
  .split("\n")
  .filter((line) => line !== "")
  .map((line): Case => JSON.parse(line));

describe("the schema layer's conformance cases", () => {
  it.each(cases.filter((one) => one.layer === "schema"))("$id $note: $verdict", (one) => {
    const accepted = schema.safeParse({ argv: one.argv, ...one.body }).success;
    expect(accepted).toBe(one.verdict !== "invalid");
  });

  it.each(cases.filter((one) => one.layer !== "schema" && one.verdict !== "invalid"))(
    "$id of a later layer passes the schema",
    (one) => {
      expect(faults({ argv: one.argv, ...one.body })).toEqual([]);
    },
  );
});

describe("argv bounds, in UTF-8 bytes", () => {
  const sized = (bytes: number) => "x".repeat(bytes);

  it("takes a token of 131,071 bytes and refuses 131,072 (FB-26)", () => {
    expect(faults({ argv: ["echo", sized(131_070)] })).toEqual([]);
    expect(faults({ argv: ["echo", sized(131_071)] })).toEqual([]);
    expect(faults({ argv: ["echo", sized(131_072)] })).toEqual([
      "/argv/1 must be at most 131071 UTF-8 bytes, got 131072",
    ]);
  });

  it("counts bytes and not characters: 65,536 times é is refused, 65,535 is taken (FB-26)", () => {
    expect(faults({ argv: ["echo", "é".repeat(65_535)] })).toEqual([]);
    expect(faults({ argv: ["echo", "é".repeat(65_536)] })).toEqual([
      "/argv/1 must be at most 131071 UTF-8 bytes, got 131072",
    ]);
  });

  it("takes 4,096 tokens and refuses 4,097 and 100,000 (FB-26)", () => {
    expect(faults({ argv: Array(4_095).fill("a") })).toEqual([]);
    expect(faults({ argv: Array(4_096).fill("a") })).toEqual([]);
    expect(faults({ argv: Array(4_097).fill("a") })).toHaveLength(1);
    expect(faults({ argv: Array(100_000).fill("a") })).toHaveLength(1);
  });

  it("takes 1 MiB in all and refuses one byte more (FB-26)", () => {
    const eight = (last: number) => [...Array(8).fill(sized(131_000)), sized(last)];
    expect(faults({ argv: eight(575) })).toEqual([]);
    expect(faults({ argv: eight(576) })).toEqual([]);
    expect(faults({ argv: eight(577) })).toEqual([
      "/argv all tokens together must be at most 1048576 UTF-8 bytes, got 1048577",
    ]);
  });

  it.each([
    ["no argv", {}, "/argv is required"],
    ["an empty argv", { argv: [] }, "/argv argv must have at least 1 token"],
    ["a string", { argv: "ls" }, "/argv must be an array of strings"],
    ["a blank argv[0]", { argv: [" "] }, "/argv/0 argv[0] must not be blank"],
    ["a NUL (FB-25)", { argv: ["echo", "a\0b"] }, "/argv/1 must not contain a NUL character"],
    ["a lone surrogate", { argv: ["echo", "\ud800"] }, "/argv/1 must not contain a lone surrogate"],
    ["a number token", { argv: ["ls", 5] }, "/argv/1 must be a string"],
    ["a nested array", { argv: ["ls", ["x"]] }, "/argv/1 must be a string"],
  ])("refuses %s", (_name, body, wanted) => {
    expect(faults(body)).toEqual([wanted]);
  });

  it("answers a million wrong tokens with one fault", () => {
    expect(faults({ argv: Array(1_000_000).fill(1) })).toHaveLength(1);
    expect(faults({ argv: Array(4_096).fill(1) })).toEqual(["/argv/0 must be a string"]);
  });
});

describe("timeout_s", () => {
  it.each([0.0001, 0.25, 1, 299.999, 300])("takes %d", (timeout_s) => {
    expect(faults({ argv: ["ls"], timeout_s })).toEqual([]);
  });
  it.each([0, -0, -1, 300.001, 1e9, Number.POSITIVE_INFINITY, Number.NaN, "5", null, true, { s: 5 }])(
    "refuses %j",
    (timeout_s) => {
      expect(faults({ argv: ["ls"], timeout_s })).toHaveLength(1);
    },
  );
  it("never becomes 0 milliseconds nor more than the hard limit", () => {
    const ms = (timeout_s: number) => submissionFromWire({ argv: ["ls"], timeout_s }, limits).timeoutMs;
    expect(ms(0.0001)).toBe(1);
    expect(ms(0.25)).toBe(250);
    expect(ms(0.29)).toBe(290);
    expect(ms(300)).toBe(300_000);
  });
});

describe.each(["max_stdout_chars", "max_stderr_chars"])("%s", (name) => {
  it.each([0, 1, 199_999, 200_000])("takes %d", (value) => {
    expect(faults({ argv: ["ls"], [name]: value })).toEqual([]);
  });
  it.each([-1, 1.5, 200_001, 1e300, "0", null])("refuses %j", (value) => {
    expect(faults({ argv: ["ls"], [name]: value })).toHaveLength(1);
  });
});

describe("other members", () => {
  it("refuses each unknown key by its name, before other faults", () => {
    const body = { argv: ["ls"], timeout_s: "5", cwd: "src", env: {}, stdin: "", tty: true, shell: true };
    expect(faults(body)).toEqual([
      "/cwd unknown key cwd",
      "/env unknown key env",
      "/stdin unknown key stdin",
      "/tty unknown key tty",
      "/shell unknown key shell",
      "/timeout_s must be a finite number",
    ]);
  });

  it("shows a hostile key escaped and cut", () => {
    const [fault = ""] = faults({ argv: ["ls"], [`\u202e\n${"k".repeat(5_000)}`]: 1 });
    expect(fault).toContain("\\u202e\\u000a");
    expect(fault.length).toBeLessThan(250);
  });

  it.each(["constructor", "toString", "hasOwnProperty", "valueOf"])("takes %s for an unknown key", (key) => {
    expect(faults({ argv: ["ls"], [key]: 1 })).toEqual([`/${key} unknown key ${key}`]);
  });

  it("never answers with more than 16 faults", () => {
    const body = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`k${i}`, 1]));
    expect(faults(body).length).toBeLessThanOrEqual(16);
  });

  it.each([[[]], ["ls"], [5], [true]])("refuses the body %j", (body) => {
    expect(faults(body)).toEqual([" must be a JSON object"]);
  });

  it("takes source objects by name only, and a reason of bounded bytes", () => {
    expect(faults({ argv: ["ls"], source_objects: ["doc-1"], reason: "é".repeat(2048) })).toEqual([]);
    expect(faults({ argv: ["ls"], source_objects: ["../x"] })).toEqual([
      "/source_objects/0 must be the name of a source object",
    ]);
    expect(faults({ argv: ["ls"], source_objects: Array(257).fill("a") })).toHaveLength(1);
    expect(faults({ argv: ["ls"], reason: "é".repeat(2049) })).toHaveLength(1);
    expect(faults({ argv: ["ls"], reason: "a\0" })).toHaveLength(1);
    expect(faults({ argv: ["ls"], reason: "" })).toHaveLength(1);
  });

  it("fills in the service's defaults", () => {
    expect(submissionFromWire({ argv: ["ls"] }, limits)).toEqual({
      argv: ["ls"],
      timeoutMs: 30_000,
      maxStdoutChars: 32_000,
      maxStderrChars: 32_000,
      sourceObjects: [],
      reason: null,
    });
    expect(
      Object.is(submissionFromWire({ argv: ["ls"], max_stdout_chars: -0 }, limits).maxStdoutChars, 0),
    ).toBe(true);
  });
});
