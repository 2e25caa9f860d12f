import { describe, expect, it } from "vitest";
import { formatPolicyProblem, loadPolicy } from "../../../../src/adapters/policy-file/load-policy.js";
import { defaultPolicyText } from "../../../support/policy/decision-request.js";

const load = (...texts: readonly string[]) =>
  loadPolicy(texts.map((text, index) => ({ name: `${index}.yaml`, text })));
const problems = (...texts: readonly string[]) => {
  const loaded = load(...texts);
  return loaded.ok ? [] : loaded.problems.map(formatPolicyProblem);
};
const rule = (id: string, decision: string, argv: string, extra = "") =>
  `  - id: ${id}
    decision: ${decision}
    pattern: [${argv}]
    reason: r
    justification: j
    match: [[${argv}, x]]
    not_match: [[other]]
${extra}`;

describe("loading a policy", () => {
  it("gives the same version for the same meaning: comments, order of keys and JSON do not matter", () => {
    const versions = [
      "version: 1\ndefault: ask\n",
      "# a comment\ndefault: ask\nversion: 1\n",
      '{"version": 1}',
      "version: 1\nrules: []\n",
    ].map((text) => {
      const loaded = load(text);
      return loaded.ok ? loaded.policy.version : "bad";
    });
    expect(new Set(versions).size).toBe(1);
    expect(versions[0]).toMatch(/^[0-9a-f]{64}$/);
    const other = load("version: 1\ndefault: deny\n");
    expect(other.ok && other.policy.version).not.toBe(versions[0]);
  });

  it.each([
    ["version: 1\nrules:\n  - idd: x\n", "0.yaml:3:5: missing or of the wrong type (expected string)"],
    [
      "version: 1\nfoo: 1\n",
      '0.yaml:2:6: unknown key "foo" (expected a key of this object, as in policy.schema.json)',
    ],
    ["version: 2\n", "0.yaml:1:10: not one of the known values (expected 1)"],
    ["version: 1\ndefault: allow\n", "0.yaml:2:10: not one of the known values (expected ask, deny)"],
    ["a: [", expect.stringMatching(/^0\.yaml:1:\d+: /)],
    ["", expect.stringContaining("0.yaml:1:1:")],
    ["version: 1\nversion: 1\n", expect.stringMatching(/^0\.yaml:2:1: .*unique/)],
    ["version: 1\nenvironment: { LD_PRELOAD: x }\n", expect.stringMatching(/^0\.yaml:2:\d+: /)],
    [
      "version: 1\nsession_label: { sensitivity: top }\n",
      expect.stringContaining("0.yaml:2:31: top is not defined (expected one of public, normal"),
    ],
  ])("names line, column and what would be right: %j", (text, first) => {
    expect(problems(text)[0]).toEqual(first);
  });

  it("names the rule, the example and its place when a rule's own examples fail", () => {
    const text = `version: 1\nrules:\n${rule("ls-rule", "allow", "ls").replace("[[other]]", "[[ls, y]]")}`;
    expect(problems(text)).toEqual([
      '0.yaml:9:17: [ls-rule] the not_match example ["ls","y"] is matched by the rule (expected an example the rule leaves alone, or a narrower rule)',
    ]);
    expect(problems(text.replace("[[ls, x]]", "[[cat, x]]"))[0]).toContain(
      '[ls-rule] the match example ["cat","x"] is not matched by the rule',
    );
  });

  it("runs examples through wrappers", () => {
    const wrappers = "wrappers:\n  - { names: [env], reason: r }\n";
    const text = (with_: string) =>
      `version: 1\n${with_}rules:\n${rule("x", "deny", "rm").replace("[[rm, x]]", "[[env, rm, x]]")}`;
    expect(problems(text(wrappers))).toEqual([]);
    expect(problems(text(""))).toHaveLength(1);
  });

  it("refuses two rules of one id, one path for two names, and sinks that can't be meant", () => {
    expect(problems(`version: 1\nrules:\n${rule("x", "deny", "a")}${rule("x", "ask", "b")}`)[0]).toContain(
      "[x] rule id x is used twice",
    );
    expect(problems("version: 1\nexecutables: { a: [/x], b: [/x] }\n")[0]).toContain(
      "/x already stands for a",
    );
    const sink = (trust: string, max: string) =>
      `version: 1\nsinks: [{ id: s, executables: [a], trust: ${trust}, max_sensitivity: ${max}, reason: r }]\n`;
    expect(problems(sink("trusted", "secret"))[0]).toContain("a trusted sink names no image");
    expect(problems(sink("untrusted", "secret"))[0]).toContain(
      "an untrusted sink can't have a higher clearance",
    );
    expect(problems(sink("untrusted", "public"))).toEqual([]);
  });

  it("never throws, whatever the text", () => {
    for (const text of [
      "\0",
      "&a [*a]",
      "- - -",
      "!!js/function x",
      "? {}",
      `${"[".repeat(3000)}`,
      "version: 1\nrules: {}",
      "\uD800",
      "version: 1\ncategories: ['\uD800']",
    ]) {
      expect(load(text).ok).toBe(false);
    }
    expect(loadPolicy([]).ok).toBe(false);
    const bomb = Array.from(
      { length: 20 },
      (_, index) => `a${index + 1}: &a${index + 1} [${`*a${index},`.repeat(9)}]`,
    );
    expect(load(`a0: &a0 [x]\n${bomb.join("\n")}\n`).ok).toBe(false);
  });
});

describe("several files", () => {
  const base = `version: 1\nrules:\n${rule("a", "allow", "ls")}`;

  it("add up, and later ones may get stricter", () => {
    const loaded = load(
      base,
      `version: 1\ndefault: deny\nrules:\n${rule("b", "deny", "ls")}${rule("c", "ask", "cat")}`,
    );
    expect(loaded.ok && loaded.policy.document.rules.map(({ id }) => id)).toEqual(["a", "b", "c"]);
    expect(loaded.ok && loaded.policy.document.default).toBe("deny");
  });

  it.each([
    ["an allow rule", `version: 1\nrules:\n${rule("b", "allow", "rm")}`, "1.yaml:4:15: [b] an allow rule"],
    ["a path for a name", "version: 1\nexecutables: { a: [/x] }\n", "1.yaml:2:14: the setting executables"],
    ["a setting", "version: 1\nlimits: { max_wrapper_depth: 2 }\n", "1.yaml:2:9: the setting limits"],
    [
      "a label scale",
      "version: 1\nsensitivity: [secret, public, normal]\n",
      "1.yaml:2:14: the setting sensitivity",
    ],
    [
      "operands that are no paths",
      "version: 1\npattern_operands: [{ names: [cat], operands: [1], reason: r }]\n",
      "1.yaml:2:19: operands that are not paths",
    ],
    [
      "a trusted sink",
      `version: 1\nsinks: [{ id: s, executables: [a], image_digests: ["sha256:${"0".repeat(64)}"], trust: trusted, max_sensitivity: secret, reason: r }]\n`,
      "a trusted sink",
    ],
  ])("but never loosen: %s", (_, overlay, message) => {
    expect(problems(base, overlay)[0]).toContain(message);
    expect(problems(base, overlay)[0]).toContain("in a file that may only get stricter");
    expect(problems(base, `base: true\n${overlay}`)).toEqual([]);
  });

  it("may not undo a stricter default unless marked as a base", () => {
    expect(problems("version: 1\ndefault: deny\n", "version: 1\ndefault: ask\n")[0]).toContain(
      "a looser default",
    );
    const loaded = load("version: 1\ndefault: deny\n", "version: 1\nbase: true\ndefault: ask\n");
    expect(loaded.ok && loaded.policy.document.default).toBe("ask");
  });

  it("report a failing example in the file that has it", () => {
    const overlay = `version: 1\nrules:\n${rule("b", "deny", "rm").replace("[[other]]", "[[rm, y]]")}`;
    expect(problems(base, overlay)).toEqual([
      expect.stringContaining("1.yaml:9:17: [b] the not_match example"),
    ]);
  });

  it("load on top of the policy that ships", () => {
    expect(problems(defaultPolicyText(), `version: 1\nrules:\n${rule("no-npm", "deny", "npm")}`)).toEqual([]);
  });
});
