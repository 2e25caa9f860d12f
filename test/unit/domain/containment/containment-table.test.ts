import { describe, expect, it } from "vitest";
import { containmentVerdict } from "../../../../src/domain/containment/containment.js";
import {
  lexicalOnlyFacts,
  type PathFact,
  workspaceFacts,
} from "../../../../src/domain/containment/workspace-facts.js";
import { pathCandidates } from "../../../../src/domain/pipeline.js";
import { seeThrough } from "../../../../src/domain/policy/see-through.js";
import { defaultPolicy } from "../../../support/policy/decision-request.js";

const policy = defaultPolicy();
const CWDS = [".", "a", "a/b"] as const;

function codeOf(
  argv: readonly string[],
  cwd: string,
  facts = lexicalOnlyFacts,
  readOnlyRoots: readonly string[] = [],
): string {
  return containmentVerdict({ vectors: seeThrough(argv, cwd, policy), readOnlyRoots }, policy, facts).code;
}

/** Each row of the table in `docs/containment.md`: a token and its verdict from `.`, `a` and `a/b`. */
const TABLE: readonly (readonly [token: string, root: string, a: string, ab: string])[] = [
  ["src/a.ts", "ok", "ok", "ok"],
  ["./a", "ok", "ok", "ok"],
  ["a/../b", "ok", "ok", "ok"],
  ["/workspace/x", "ok", "ok", "ok"],
  ["/workspace", "ok", "ok", "ok"],
  ["/workspacex/y", "leaves_workspace", "leaves_workspace", "leaves_workspace"],
  ["..", "leaves_workspace", "ok", "ok"],
  [".", "ok", "ok", "ok"],
  ["../..", "leaves_workspace", "leaves_workspace", "ok"],
  ["a/../../b", "leaves_workspace", "ok", "ok"],
  ["a/../../../b", "leaves_workspace", "leaves_workspace", "ok"],
  ["/workspace/../etc", "leaves_workspace", "leaves_workspace", "leaves_workspace"],
  ["/etc/passwd", "leaves_workspace", "leaves_workspace", "leaves_workspace"],
  ["//etc/passwd", "leaves_workspace", "leaves_workspace", "leaves_workspace"],
  ["/etc/../workspace/x", "leaves_workspace", "leaves_workspace", "leaves_workspace"],
  ["~", "home_expansion", "home_expansion", "home_expansion"],
  ["~/x", "home_expansion", "home_expansion", "home_expansion"],
  ["~root/x", "home_expansion", "home_expansion", "home_expansion"],
  ["-I~", "home_expansion", "home_expansion", "home_expansion"],
  ["--file=~/x", "home_expansion", "home_expansion", "home_expansion"],
  ["HEAD~1", "ok", "ok", "ok"],
  ["file:///x", "file_url", "file_url", "file_url"],
  ["FILE:/x", "file_url", "file_url", "file_url"],
  ["file:x", "file_url", "file_url", "file_url"],
  ["--url=file:///x", "file_url", "file_url", "file_url"],
  ["@file:///x", "file_url", "file_url", "file_url"],
  ["-Ifile:x", "file_url", "file_url", "file_url"],
  ["jar:file:x.jar", "file_url", "file_url", "file_url"],
  [" file:x", "file_url", "file_url", "file_url"],
  ["profile:x", "ok", "ok", "ok"],
  ["https://example.com/a/../b", "ok", "ok", "ok"],
  ["https://user@example.com:8080/?q=/etc", "ok", "ok", "ok"],
  ["git+ssh://h/x", "ok", "ok", "ok"],
  ["s3://b/k", "ok", "ok", "ok"],
  ["--url=https://example.com/x", "ok", "ok", "ok"],
  ["http:///etc/passwd", "leaves_workspace", "leaves_workspace", "leaves_workspace"],
  ["http:/etc/passwd", "leaves_workspace", "leaves_workspace", "leaves_workspace"],
  ["x://", "leaves_workspace", "leaves_workspace", "leaves_workspace"],
  ["xy://../../etc", "leaves_workspace", "leaves_workspace", "leaves_workspace"],
  ["https://h/../../../etc/passwd", "leaves_workspace", "ok", "ok"],
  ["C:\\x", "leaves_workspace", "leaves_workspace", "leaves_workspace"],
  ["C:/x", "leaves_workspace", "leaves_workspace", "leaves_workspace"],
  ["\\\\server\\share", "leaves_workspace", "leaves_workspace", "leaves_workspace"],
  ["\\\\?\\C:\\x", "leaves_workspace", "leaves_workspace", "leaves_workspace"],
  ["..\\x", "leaves_workspace", "ok", "ok"],
  ["--out=../x", "leaves_workspace", "ok", "ok"],
  ["--out=/etc/x", "leaves_workspace", "leaves_workspace", "leaves_workspace"],
  ["-I../../..", "leaves_workspace", "leaves_workspace", "leaves_workspace"],
  ["-I../..", "leaves_workspace", "leaves_workspace", "ok"],
  ["-o/etc/x", "leaves_workspace", "leaves_workspace", "leaves_workspace"],
  ["-xvf/etc/x", "leaves_workspace", "leaves_workspace", "leaves_workspace"],
  ["-C/", "leaves_workspace", "leaves_workspace", "leaves_workspace"],
  ["-/etc/x", "leaves_workspace", "leaves_workspace", "leaves_workspace"],
  ["@/etc/x", "leaves_workspace", "leaves_workspace", "leaves_workspace"],
  ["@../x", "leaves_workspace", "ok", "ok"],
  ["-d@/etc/x", "leaves_workspace", "leaves_workspace", "leaves_workspace"],
  ["@src/args.txt", "ok", "ok", "ok"],
  ["if=/dev/sda", "leaves_workspace", "leaves_workspace", "leaves_workspace"],
  ["a=b=../x", "leaves_workspace", "ok", "ok"],
  ["HEAD:../x", "leaves_workspace", "ok", "ok"],
  ["HEAD:src/x", "ok", "ok", "ok"],
  ["%2e%2e/x", "percent_encoding", "ok", "ok"],
  ["%2Fetc", "percent_encoding", "percent_encoding", "percent_encoding"],
  ["..%2f", "percent_encoding", "ok", "ok"],
  ["%252e%252e/x", "ok", "ok", "ok"],
  ["100%", "ok", "ok", "ok"],
  ["$HOME/x", "ok", "ok", "ok"],
  ["$\u007bX}", "ok", "ok", "ok"],
  ["$(x)", "ok", "ok", "ok"],
  ["`x`", "ok", "ok", "ok"],
  ["$HOME/../../x", "leaves_workspace", "ok", "ok"],
  ["a/b", "ok", "ok", "ok"],
  ["s/..//", "ok", "ok", "ok"],
  ["(a/b)", "ok", "ok", "ok"],
  ["1/2", "ok", "ok", "ok"],
  ["", "ok", "ok", "ok"],
  ["-", "ok", "ok", "ok"],
  ["--", "ok", "ok", "ok"],
  ["42", "ok", "ok", "ok"],
  ["word", "ok", "ok", "ok"],
  ["..x/y", "ok", "ok", "ok"],
  ["x..", "ok", "ok", "ok"],
  ["line\nbreak", "ok", "ok", "ok"],
  ["a/line\nbreak", "control_character", "control_character", "control_character"],
  ["a/\u009b", "control_character", "control_character", "control_character"],
  ["fi\tle:///x", "leaves_workspace", "leaves_workspace", "leaves_workspace"],
  ["/dev/null", "ok", "ok", "ok"],
  ["/dev/null/../sda", "leaves_workspace", "leaves_workspace", "leaves_workspace"],
  ["if=/dev/null", "ok", "ok", "ok"],
];

describe("containment of one token", () => {
  for (const [token, ...codes] of TABLE) {
    for (const [index, cwd] of CWDS.entries()) {
      it(`${JSON.stringify(token)} from ${cwd} is ${codes[index]}`, () => {
        expect(codeOf(["cat", token], cwd)).toBe(codes[index]);
      });
    }
  }
});

describe("containment of argv[0]", () => {
  it.each([
    ["ls", "ok"],
    ["./tool", "ok"],
    ["bin/tool", "ok"],
    ["/workspace/bin/x", "ok"],
    ["/usr/bin/python3", "ok"],
    ["/usr/bin/ls", "executable_not_listed"],
    ["../x", "leaves_workspace"],
    ["..", "leaves_workspace"],
    ["~/x", "home_expansion"],
    ["..\\x", "leaves_workspace"],
    ["%2e%2e%2fx", "percent_encoding"],
    ["file:x", "file_url"],
  ])("%j is %s from the root", (argv0, code) => {
    expect(codeOf([argv0], ".")).toBe(code);
  });
});

describe("containment by the policy's word", () => {
  it("leaves patterns of rg and grep alone, but not their files", () => {
    expect(codeOf(["rg", "/etc/../x", "src"], ".")).toBe("ok");
    expect(codeOf(["grep", "-rn", "-e", "../x", "src"], ".")).toBe("ok");
    expect(codeOf(["rg", "x", "/etc"], ".")).toBe("leaves_workspace");
    expect(codeOf(["grep", "-e", "x", "/etc/passwd"], ".")).toBe("leaves_workspace");
    expect(codeOf(["grep", "-f", "/etc/passwd", "x"], ".")).toBe("leaves_workspace");
  });

  it("judges every operand of a program whose options are not all known", () => {
    expect(codeOf(["rg", "--unknown", "/etc", "src"], ".")).toBe("leaves_workspace");
  });

  it("leaves sed scripts, formats and sets of characters alone", () => {
    expect(codeOf(["sed", "/a/d", "f"], ".")).toBe("ok");
    expect(codeOf(["sed", "-e", "/a/d", "/etc/passwd"], ".")).toBe("leaves_workspace");
    expect(codeOf(["printf", "\\n"], ".")).toBe("ok");
    expect(codeOf(["tr", "\\n", "/"], ".")).toBe("ok");
  });

  it("admits the profile's read-only roots and nothing beside them", () => {
    const roots = ["/usr/share/dict"];
    expect(codeOf(["cat", "/usr/share/dict/words"], ".", lexicalOnlyFacts, roots)).toBe("ok");
    expect(codeOf(["cat", "/usr/share/dictx"], ".", lexicalOnlyFacts, roots)).toBe("leaves_workspace");
    expect(codeOf(["cat", "/usr/share/dict/../x"], ".", lexicalOnlyFacts, roots)).toBe("leaves_workspace");
  });

  it("judges what shell text names, redirections and changed directories included", () => {
    expect(codeOf(["sh", "-c", "cat /etc/passwd"], ".")).toBe("leaves_workspace");
    expect(codeOf(["sh", "-c", "echo x > ../y"], ".")).toBe("leaves_workspace");
    expect(codeOf(["sh", "-c", "cd a && cat ../../x"], ".")).toBe("leaves_workspace");
    expect(codeOf(["sh", "-c", "echo a/b\necho c"], ".")).toBe("ok");
    expect(codeOf(["env", "-C", "..", "ls"], ".")).toBe("leaves_workspace");
  });
});

describe("containment of symbolic links", () => {
  const facts = (table: Record<string, PathFact>) => workspaceFacts(new Map(Object.entries(table)));

  it("refuses a path whose link leads out, also as a bare word, an option's value and an inner word", () => {
    const links = facts({
      link: "outside",
      "link/x": "outside",
      "--out=link": "missing",
      "out=link": "missing",
    });
    expect(codeOf(["cat", "link/x"], ".", links)).toBe("symlink_leaves_workspace");
    expect(codeOf(["cat", "link"], ".", links)).toBe("symlink_leaves_workspace");
    expect(codeOf(["cat", "--out=link"], ".", links)).toBe("symlink_leaves_workspace");
    expect(codeOf(["sh", "-c", "cat link"], ".", links)).toBe("symlink_leaves_workspace");
  });

  it("refuses a path-like token that was not looked up or could not be, and lets bare words be", () => {
    expect(codeOf(["cat", "a/b"], ".", facts({}))).toBe("path_unresolved");
    expect(codeOf(["cat", "a/b"], ".", facts({ "a/b": "unknown" }))).toBe("path_unresolved");
    expect(codeOf(["cat", "a/b"], ".", facts({ "a/b": "missing" }))).toBe("ok");
    expect(codeOf(["cat", "word"], ".", facts({}))).toBe("ok");
  });

  it("asks for every path it will judge, relative to the workspace and with `..` kept behind names", () => {
    expect(
      pathCandidates({ argv: ["cat", "link/../x", "w", "/workspace/y", "--o=z/q"], cwd: "a" }, policy),
    ).toEqual(expect.arrayContaining(["a/link/../x", "a/w", "y", "a/z/q"]));
    expect(pathCandidates({ argv: ["env", "sh", "-c", "cd b; cat c"], cwd: "." }, policy)).toEqual(
      expect.arrayContaining(["b", "c", "b/c"]),
    );
  });
});
