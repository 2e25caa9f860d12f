import { describe, expect, it } from "vitest";
import { decide } from "../../../../src/domain/pipeline.js";
import { decisionRequest, defaultPolicy, OPEN_GRANT } from "../../../support/policy/decision-request.js";

const policy = defaultPolicy();
const verdict = (...argv: string[]) => decide(decisionRequest(argv), policy).verdict;

describe("the policy that ships", () => {
  it("gives every rule a reason, a justification and at least two examples of each kind", () => {
    for (const rule of policy.document.rules) {
      expect(rule.match.length, rule.id).toBeGreaterThanOrEqual(2);
      expect(rule.not_match.length, rule.id).toBeGreaterThanOrEqual(2);
      expect(rule.reason.length * rule.justification.length, rule.id).toBeGreaterThan(0);
    }
  });

  it.each([
    ["ls", "-la"],
    ["cat", "a.txt"],
    ["tail", "--follow", "log"],
    ["rg", "-n", "TODO", "src"],
    ["rg", "a/../../b", "src"],
    ["grep", "-rn", "x", "."],
    ["find", ".", "-name", "*.ts", "-print"],
    ["sort", "-k2", "f"],
    ["diff", "-u", "a", "b"],
    ["sed", "-n", "10,20p", "src/a.ts"],
    ["awk", "{print $2}", "f"],
    ["git", "status"],
    ["git", "diff", "--stat"],
    ["node", "--version"],
    ["timeout", "5", "ls"],
    ["nice", "-n", "5", "env", "cat", "a"],
    ["printf", "%s\\n", "x"],
    ["true"],
  ])("allows %s %s %s %s", (...argv) => {
    expect(verdict(...argv)).toBe("allow");
  });

  it.each([
    ["npm", "test"],
    ["node", "a.js"],
    ["python3", "a.py"],
    ["python3", "-m", "pytest"],
    ["make"],
    ["cargo", "test"],
    ["go", "test"],
    ["mv", "a", "b"],
    ["tee", "a"],
    ["sed", "-i", "s/a/b/", "f"],
    ["tar", "-xf", "a.tar"],
    ["rm", "x"],
    ["rmdir", "x"],
    ["npm", "install"],
    ["pip", "install", "x"],
    ["curl", "https://example.com"],
    ["unknown-tool"],
    ["./script"],
    ["./ls"],
    ["LS"],
    ["sort", "--compress=x", "f"],
    ["uniq", "a", "b"],
    ["date", "-s", "x"],
    ["file", "-C"],
    ["diff", "--pag", "a", "b"],
    ["tree", "-o", "x"],
    ["env", "PATH=.", "ls"],
    ["time", "-o", "x", "ls"],
    ["xargs", "ls"],
    ["gdb", "a.out"],
    ["less", "x"],
  ])("asks for %s %s %s %s", (...argv) => {
    expect(verdict(...argv)).toBe("ask");
  });

  it.each([
    ["sh", "-c", "ls"],
    ["bash", "-lc", "ls"],
    ["bash", "-c", "-e", "ls"],
    ["python3", "-c", "print(1)"],
    ["python3", "-Ic", "print(1)"],
    ["python3", "-Bc", "print(1)"],
    ["python3.11", "-c", "1"],
    ["node", "-e", "1"],
    ["node", "--eval=1"],
    ["node", "-pe", "1"],
    ["perl", "-e", "1"],
    ["perl", "-lane", "print"],
    ["ruby", "-e", "1"],
    ["php", "-r", "1;"],
    ["awk", 'BEGIN{system("id")}'],
    ["awk", '"date" | getline d'],
    ["awk", '{print > "f"}', "x"],
    ["make", "-f", "-"],
    ["make", "-sf-"],
    ["make", "--makef=-"],
    ["make", "--eval=x:;id"],
    ["vim", "-c", ":!id"],
    ["vim", "+!id"],
    ["sed", "s/a/b/e", "x"],
    ["sed", "-n", "1w out", "x"],
    ["sed", "-e", "1e id", "x"],
    ["tar", "--to-command=sh", "-xf", "a"],
    ["tar", "--checkpoint-action=exec=sh", "-cf", "a", "b"],
    ["ssh", "-o", "ProxyCommand=sh", "h"],
    ["rsync", "-e", "sh", "a", "b"],
    ["./python3", "-c", "1"],
    ["env", "-S", "python3 -c 1"],
  ])("FB-38 asks at best for code in %s %s %s %s, also where what no rule names runs", (...argv) => {
    expect(verdict(...argv)).toBe("ask");
    const blocklist = decide(decisionRequest(argv, { grant: { ...OPEN_GRANT, level: "blocklist" } }), policy);
    expect(blocklist.verdict).toBe("ask");
  });

  it.each([
    ["/bin/rm", "-rf", "x"],
    ["./rm", "-rf", "x"],
    ["rm", "-fr", "x"],
    ["rm", "-vf", "x"],
    ["rm", "--recursive", "--force", "x"],
    ["rm", "x", "--rec"],
    ["rm", "-v", "--", "-x", "-rf"],
    ["env", "rm", "-rf", "x"],
    ["env", "-i", "A=1", "rm", "-rf", "x"],
    ["env", "-S", "rm -rf x"],
    ["env", "-Srm -rf x"],
    ["env", "-vS", "rm -rf", "x"],
    ["nice", "-n", "5", "rm", "-rf", "x"],
    ["timeout", "5", "rm", "-rf", "x"],
    ["xargs", "rm", "-rf"],
    ["busybox", "rm", "-rf", "x"],
    ["busybox", "sh", "-c", "rm -rf x"],
    ["sh", "-c", "rm -rf x"],
    ["sh", "-c", 'exec "$@"', "_", "rm", "-rf", "x"],
    ["sh", "-c", "$'\\x72m' -rf x"],
    ["sh", "-c", "bash <<E\nrm -rf x\nE"],
    ["sh", "-c", "trap 'rm -rf x' EXIT"],
    ["find", ".", "-exec", "rm", "-rf", "{}", "+"],
    ["find", ".", "-exec", "sh", "-c", 'rm -rf "$1"', "_", "{}", ";"],
    ["watch", "rm", "-rf", "x"],
    ["npm", "exec", "rm", "-rf", "x"],
    ["uv", "run", "rm", "-rf", "x"],
    ["npx", "--yes", "rm", "-rf", "x"],
    ["tar", "-xI", "rm -rf x", "-f", "a"],
    ["sort", "--compress-prog=sudo x", "f"],
    ["sudo", "ls"],
    ["Sudo.exe", "ls"],
    ["mkfs.ext4", "x"],
    ["shred", "-fu", "x"],
    ["strace", "-fp", "1"],
    ["docker", "ps"],
  ])("FB-33 denies %s %s %s %s", (...argv) => {
    expect(verdict(...argv)).toBe("deny");
  });
});

describe("the policy levels", () => {
  const at = (level: (typeof OPEN_GRANT)["level"], ...argv: string[]) =>
    decide(decisionRequest(argv, { grant: { ...OPEN_GRANT, level } }), policy).verdict;

  it.each([
    ["deny_all", "deny", "deny", "deny", "deny"],
    ["allowlist", "allow", "ask", "ask", "deny"],
    ["blocklist", "allow", "ask", "allow", "deny"],
    ["allow_all", "allow", "allow", "allow", "deny"],
  ] as const)(
    "%s: an allow rule is %s, an ask rule %s, unmatched %s, a deny rule %s",
    (level, allow, ask, unmatched, deny) => {
      expect(at(level, "ls")).toBe(allow);
      expect(at(level, "npm", "test")).toBe(ask);
      expect(at(level, "unknown-tool")).toBe(unmatched);
      expect(at(level, "sudo", "ls")).toBe(deny);
    },
  );

  it("leave the git guard and containment alone", () => {
    expect(at("allow_all", "git", "push")).toBe("deny");
    expect(at("allow_all", "sh", "-c", "$(echo git) push")).toBe("deny");
    expect(at("allow_all", "cat", "/etc/passwd")).toBe("deny");
  });
});

describe("vectors of the grant's own", () => {
  const decideWith = (usesLeft: number | null, match: "exact" | "prefix", argv: readonly string[]) =>
    decide(
      decisionRequest(argv, {
        grant: { ...OPEN_GRANT, vectors: [{ argv: ["npm", "test"], match, usesLeft }] },
      }),
      policy,
    );

  it("turn an ask into an allow for exactly what they name, and say which one it was", () => {
    expect(decideWith(1, "exact", ["npm", "test"])).toMatchObject({ verdict: "allow", grantedVector: 0 });
    expect(decideWith(1, "exact", ["npm", "test", "x"]).verdict).toBe("ask");
    expect(decideWith(1, "prefix", ["npm", "test", "x"])).toMatchObject({
      verdict: "allow",
      grantedVector: 0,
    });
    expect(decideWith(1, "prefix", ["env", "npm", "test"]).verdict).toBe("ask");
  });

  it("are worth nothing when used up", () => {
    expect(decideWith(0, "exact", ["npm", "test"]).verdict).toBe("ask");
    expect(decideWith(null, "exact", ["npm", "test"]).verdict).toBe("allow");
  });

  it("never turn a deny, and are not used up where no ask is turned", () => {
    const grant = {
      ...OPEN_GRANT,
      vectors: [
        { argv: ["sudo"], match: "prefix" as const, usesLeft: null },
        { argv: ["ls"], match: "prefix" as const, usesLeft: 1 },
      ],
    };
    expect(decide(decisionRequest(["sudo", "ls"], { grant }), policy).verdict).toBe("deny");
    expect(decide(decisionRequest(["ls"], { grant }), policy)).not.toHaveProperty("grantedVector");
  });
});

describe("the explanation", () => {
  it("names the rule, its words, the inner vector and every layer", () => {
    const decision = decide(decisionRequest(["env", "nice", "rm", "-rf", "x"]), policy);
    expect(decision.layers.find(({ layer }) => layer === "policy")).toEqual({
      layer: "policy",
      verdict: "deny",
      code: "rule_deny",
      reason: "recursive or forced deletion is refused",
      ruleId: "delete-many",
      vector: ["rm", "-rf", "x"],
    });
    expect(decision.innerVectors).toEqual([
      { argv: ["nice", "rm", "-rf", "x"], via: ["env"], certain: true },
      { argv: ["rm", "-rf", "x"], via: ["env", "nice"], certain: true },
    ]);
    expect(decision.layers.slice(6).map(({ verdict: layerVerdict }) => layerVerdict)).toEqual([
      "skipped",
      "skipped",
      "skipped",
    ]);
  });

  it("FB-34 lists the files whose content an approval binds: argv[0] and script operands, through wrappers", () => {
    const files = (...argv: string[]) => decide(decisionRequest(argv, { cwd: "a" }), policy).boundFiles;
    expect(files("./tool")).toEqual(["a/tool"]);
    expect(files("sh", "build.sh")).toEqual(["a/build.sh"]);
    expect(files("bash", "-eo", "pipefail", "../build.sh", "x")).toEqual(["build.sh"]);
    expect(files("env", "python3", "-u", "/workspace/x.py", "y")).toEqual(["x.py"]);
    expect(files("node", "--test", "t.mjs")).toEqual(["a/t.mjs"]);
    expect(files("awk", "-f", "p.awk", "data")).toEqual(["a/p.awk"]);
    expect(files("make", "-f", "other.mk")).toEqual(["a/other.mk"]);
    expect(files("sh", "-c", "ls")).toEqual([]);
  });

  it("marks the six Git vectors, and only them, for hardening", () => {
    expect(decide(decisionRequest(["git", "status"]), policy).gitHardened).toBe(true);
    expect(decide(decisionRequest(["git", "log"]), policy).gitHardened).toBe(false);
    expect(decide(decisionRequest(["ls"]), policy).gitHardened).toBe(false);
  });
});
