import fc from "fast-check";
import { expect, it } from "vitest";
import { pendingApproval } from "../../../../src/domain/approval/approval.js";
import type { CommandRecord } from "../../../../src/domain/command.js";
import { renderRequest } from "../../../../src/domain/rendering/render-request.js";
import { isSafeCharacter } from "../../../../src/domain/rendering/safe-text.js";
import { aRecord, aSession } from "../../../support/redis-fixtures.js";

const session = aSession();

/** A request whose every text is the given one. */
function aRequestOf(text: string): CommandRecord {
  const plain = aRecord(session);
  return {
    ...plain,
    profile: text,
    imageDigest: text,
    request: { ...plain.request, argv: ["tool", text], cwd: text, timeoutMs: 90_000, reason: text },
    decision: {
      ...plain.decision,
      verdict: "ask",
      effectiveLabel: { sensitivity: text, trust: "unknown", categories: [text], tenant: "acme" },
      innerVectors: [{ argv: ["inner", text], via: [text], certain: true }],
      layers: [{ layer: "policy", verdict: "ask", code: "rule", reason: text, ruleId: text, vector: [text] }],
    },
    approval: pendingApproval("apr_1", { binding: "b".repeat(64), files: [{ path: text, sha256: null }] }),
  };
}

const rowsOf = (text: string) => renderRequest(aRequestOf(text)).text.split("\n");
const nameOf = (row: string) => row.slice(0, 9).trim();

it("everything a reviewer needs is a row: argv, length, cwd, timeout, image, label, why, inner commands, files", () => {
  const rows = rowsOf("x");
  expect(rows.map(nameOf)).toEqual([
    "argv",
    "length",
    "cwd",
    "timeout",
    "profile",
    "image",
    "label",
    "asked by",
    "about",
    "runs",
    "file",
    "they say",
  ]);
  const value = (name: string) => rows.find((row) => nameOf(row) === name)?.slice(10);
  expect(value("argv")).toBe('["tool","x"]');
  expect(value("length")).toBe("2 tokens, 5 characters, 5 bytes");
  expect(value("timeout")).toBe("90 s");
  expect(value("asked by")).toBe("policy rule x: x (rule)");
});

it("no text of a request adds a row, passes for one or leaves an unsafe character, whatever it holds", () => {
  const expected = rowsOf("x").map(nameOf);
  const hostile = fc.oneof(
    fc.string({ unit: "binary" }),
    fc
      .array(
        fc.constantFrom("\n", "\r\n", "\u2028", "\u0085", "\u202e", "\u200b", "cwd  ", "  ", '"', "\\", "a"),
      )
      .map((parts) => parts.join("")),
  );
  fc.assert(
    fc.property(hostile, (text) => {
      const rows = rowsOf(text);
      expect(rows.map(nameOf).filter((name) => !name.startsWith("! token"))).toEqual(expected);
      for (const row of rows)
        for (const character of row) expect(character === " " || isSafeCharacter(character)).toBe(true);
    }),
  );
});
