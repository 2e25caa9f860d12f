import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalJson } from "../../../../src/domain/canonical-json.js";
import { evidenceOf, type RecordingTerms } from "../../../../src/domain/evidence/evidence-of.js";
import {
  DEFAULT_SECRET_OPTIONS,
  redactText,
  redactVector,
} from "../../../../src/domain/evidence/redact-secrets.js";
import { FULL_TERMS, finishedCommand } from "../../../support/evidence.js";

const SECRET = "hunter2-hunter2";
const words = (argv: readonly string[]) => redactVector(argv, DEFAULT_SECRET_OPTIONS).argv;

const recorded = (
  argv: readonly string[],
  terms: Partial<RecordingTerms> = {},
  reason: string | null = null,
) => {
  const command = finishedCommand("acme");
  const record = {
    ...command,
    request: { ...command.request, argv, reason },
    decision: {
      ...command.decision,
      layers: [{ layer: "policy" as const, verdict: "allow" as const, code: "c", reason: "r", vector: argv }],
      innerVectors: [{ argv, via: ["env"], certain: true }],
      boundFiles: ["run.sh"],
    },
  };
  const event = { kind: "finished" as const, atMs: 1_800_000_000_000, record, approval: null };
  return evidenceOf(event, { ...FULL_TERMS, ...terms });
};

describe("secrets in argv", () => {
  it.each([
    ["behind an option", ["mysql", "--password", SECRET]],
    ["in an option", ["mysql", `--password=${SECRET} and more`]],
    ["in shell text", ["sh", "-c", `curl --token ${SECRET} x; echo`]],
    ["in a header", ["curl", "-H", `Authorization: Basic ${SECRET}`]],
    ["in a header of shell text", ["sh", "-c", `curl -H 'authorization: Bearer ${SECRET}' x`]],
    ["in a URL", ["git", "clone", `https://user:${SECRET}@example.com/x`]],
    ["in a variable", ["env", `DB_PASSWORD=${SECRET}`, "psql"]],
    ["in JSON", ["curl", "-d", `{"client_secret": "${SECRET}"}`]],
    ["in a query", ["curl", `https://example.com/?access_token=${SECRET}&a=b`]],
  ])("are not recorded %s", (_, argv) => {
    const text = canonicalJson(recorded(argv, {}, argv.join(" ")));
    expect(text).not.toContain(SECRET);
    expect(recorded(argv).request.argv_redacted).not.toEqual([]);
  });

  it.each([
    `ghp_${"a".repeat(36)}`,
    `github_pat_${"a".repeat(40)}`,
    "AKIAABCDEFGHIJKLMNOP",
    `sk-${"a".repeat(40)}`,
    `xoxb-${"1".repeat(20)}`,
    `eyJ${"a".repeat(20)}.${"b".repeat(20)}.${"c".repeat(20)}`,
    `blf_key_${"0".repeat(26)}_${"x".repeat(43)}`,
    `-----BEGIN RSA PRIVATE KEY-----\n${"a".repeat(64)}\n-----END`,
  ])("are known by their shape: %s", (secret) => {
    expect(words(["echo", `x ${secret}`])).toEqual(["echo", "x [redacted]"]);
  });

  it("leave the rest as it was", () => {
    const argv = [
      "git",
      "log",
      "--format=%H",
      "-n",
      "1",
      "a|b",
      "$HOME",
      "\u{1F600}",
      "https://example.com/a@b",
    ];
    expect(redactVector(argv, DEFAULT_SECRET_OPTIONS)).toEqual({ argv, changed: [] });
    expect(words(["x", "--password", SECRET, "y"])).toEqual(["x", "--password", "[redacted]", "y"]);
    expect(redactText(`a --token=${SECRET} b`, DEFAULT_SECRET_OPTIONS)).toBe("a --token=[redacted] b");
  });

  it("follow options that the deployment names", () => {
    expect(redactVector(["mysql", "-p", SECRET], ["-p"]).argv).toEqual(["mysql", "-p", "[redacted]"]);
  });
});

describe("how much is recorded", () => {
  const argv = ["tool", "operand-of-the-request"];

  it("`full`: every token, and what the decision saw", () => {
    const { request, decision } = recorded(argv, {}, "because");
    expect(request).toMatchObject({ argv, argv_tokens: 2, argv_redacted: [], reason: "because" });
    expect(decision.bound_files).toEqual(["run.sh"]);
    expect(decision.inner_vectors[0]?.argv).toEqual(argv);
  });

  it("`redacted`: the program alone", () => {
    const body = recorded(argv, { argv: "redacted" }, "for operand-of-the-request");
    expect(body.request).toMatchObject({ argv: ["tool", "[redacted]"], argv_redacted: [1], reason: null });
    expect(canonicalJson(body)).not.toContain("operand-of-the-request");
  });

  it("`hashed`: a keyed hash that only the deployment can compare", () => {
    const body = recorded(argv, { argv: "hashed" }, "for operand-of-the-request");
    expect(body.request).toMatchObject({ argv: null, argv_tokens: 2 });
    expect(canonicalJson(body)).not.toContain("operand-of-the-request");
    expect(canonicalJson(body)).not.toContain('"tool"');
    const other = recorded(argv, { argv: "hashed", hmacKey: new Uint8Array(32).fill(1) });
    expect(other.request.argv_hmac).not.toBe(body.request.argv_hmac);
    expect(recorded(argv).request.argv_hmac).toBe(body.request.argv_hmac);
  });

  it("output is never more than its hashes", () => {
    const hashed = recorded(argv);
    expect(hashed.result?.stdout).toMatchObject({ bytes: 2, sha256: "aa" });
    expect(hashed.result).not.toHaveProperty("output");
    expect(recorded(argv, { output: "none" }).result?.stdout).toMatchObject({ bytes: 2, sha256: null });
  });

  it("has canonical JSON whatever the request was", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "binary" }), { minLength: 1 }), (tokens) => {
        expect(() => canonicalJson(recorded([...tokens, "\ud800"], {}, "\udc00"))).not.toThrow();
      }),
    );
  });
});
