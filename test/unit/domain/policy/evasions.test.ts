import { describe, expect, it } from "vitest";
import { workspaceFacts } from "../../../../src/domain/containment/workspace-facts.js";
import type { GrantedVector } from "../../../../src/domain/decision/grant.js";
import { decide } from "../../../../src/domain/pipeline.js";
import {
  decisionRequest,
  defaultPolicy,
  defaultPolicyText,
  OPEN_GRANT,
  policyOf,
} from "../../../support/policy/decision-request.js";

const policy = defaultPolicy();
const verdict = (...argv: string[]) => decide(decisionRequest(argv), policy).verdict;
const atAllowAll = (...argv: string[]) =>
  decide(decisionRequest(argv, { grant: { ...OPEN_GRANT, level: "allow_all" } }), policy).verdict;

describe("an allowed reader is asked about as soon as it would", () => {
  it.each([
    ["wc", "--files0-from=list"],
    ["du", "--files0-f", "list"],
    ["sort", "--files0-from=list"],
    ["find", "-files0-from", "list"],
    ["file", "-bf", "list"],
    ["sha256sum", "-c", "sums"],
    ["sha256sum", "--che", "sums"],
  ])("read the names of further files from a file: %s %s %s", (...argv) => {
    expect(verdict(...argv)).toBe("ask");
  });

  it.each([
    ["tree", "-aLP", "2", "--", "-o", "out"],
    ["tree", "-LP", "2", "--", "-o", "out"],
    ["awk", "-p", "{print}", "f"],
    ["awk", "-F,", 'BEGIN{system("id")}'],
  ])("write or run by an option that hides in the cluster or the place of another: %s %s %s", (...argv) => {
    expect(verdict(...argv)).toBe("ask");
  });

  it.each([
    ["date", "01010000"],
    ["date", "-u", "010100002030.00"],
    ["date", "--", "01010000"],
  ])("set the clock by an operand: %s %s", (...argv) => {
    expect(verdict(...argv)).toBe("ask");
  });

  it.each([["pytest"], ["py.test-3"], ["cargo"], ["rustc"]])(
    "run code of the workspace for its version: %s",
    (name) => {
      expect(verdict(name, "--version")).toBe("ask");
    },
  );
});

const HIDDEN: string[][] = [
  ["git", "push"],
  ["sudo", "ls"],
  ["rm", "-rf", "x"],
];

describe.each(HIDDEN)("%s %s is denied at every level", (...inner) => {
  const text = inner.join(" ");

  it.each([
    ["taskset", "1"],
    ["chrt", "10"],
    ["setarch", "x86_64"],
    ["linux64"],
    ["i386"],
    ["choom", "-n", "0", "--"],
    ["logsave", "log"],
    ["start-stop-daemon", "-S", "-x"],
    ["coreutils", "--coreutils-prog"],
    ["perf", "record"],
    ["direnv", "exec", "."],
    ["tini", "--"],
    ["tmux", "new"],
  ])("behind a launcher whose operands come before the command: %s %s", (...launcher) => {
    expect(atAllowAll(...launcher, ...inner)).toBe("deny");
  });

  it.each([
    ["npm", "exec", "-y"],
    ["npm", "exec", "--"],
    ["npm", "x", "--package=p", "--"],
    ["uv", "run", "--with", "x"],
  ])("behind options of a subcommand: %s %s %s", (...launcher) => {
    expect(atAllowAll(...launcher, ...inner)).toBe("deny");
  });

  it("behind an option whose value is optional", () => {
    expect(atAllowAll("xargs", "--max-lines", ...inner)).toBe("deny");
  });

  it.each([
    ["coreutils", `--coreutils-prog=${inner[0]}`, ...inner.slice(1)],
    ["npm", "x", `--call=${text}`],
    ["npm", "exec", "-c", text],
    ["hyperfine", text],
    ["parallel", ":::", text],
    ["sg", "x", "-c", text],
    ["fish", `--command=${text}`],
    ["fish", "-C", text],
    ["bash", `--unknown=${text}`],
    ["split", `--filter=${text}`, "f"],
    ["install", `--strip-program=${text}`, "a", "b"],
    ["zip", "-T", "-TT", text, "a", "b"],
    ["ncat", "--sh-exec", text, "h"],
    ["tar", "xIf", text, "a"],
    ["tar", "xfI", "a", text],
    ["ssh", "-o", `proxycommand=${text}`, "h"],
    ["ssh", `-oProxyCommand ${text}`, "h"],
    ["fd", `--exec=${text}`],
    ["watch", "-x", "sh", "-c", text],
    ["env", "-S", text.replaceAll(" ", "\\_")],
    ["env", "-S", `${text}\\c ignored`],
    ["env", "-S", `${text} # comment`],
  ])("in an option's or an operand's text: %s %s %s", (...argv) => {
    expect(atAllowAll(...argv)).toBe("deny");
  });
});

describe("Git visible in text is refused at every level", () => {
  it.each([
    "echo git push | sh",
    "printf 'git push' | bash -s",
    "echo 'git push' | xargs -I{} sh -c {}",
    "echo git push | xargs env",
    "source <(echo git push)",
    "let 'x=a[$(git push)]'",
    "printf -v 'a[$(git push)]' x",
    "[ -v 'a[$(git push)]' ]",
    "mapfile -C 'git push' -c 1 x",
    "compgen -C 'git push'",
    "bind -x '\"x\":git push'",
  ])("where the shell takes text from its input or evaluates a word: %s", (text) => {
    expect(atAllowAll("bash", "-c", text)).toBe("deny");
  });

  it.each([
    ["vim", "+!git push"],
    ["sed", "1e git push", "f"],
    ["sed", "$e git push", "f"],
  ])("where an editor runs it: %s %s", (...argv) => {
    expect(atAllowAll(...argv)).toBe("deny");
  });

  it("under the name of a program that is Git", () => {
    expect(atAllowAll("scalar", "clone", "x")).toBe("deny");
  });
});

describe("containment reads", () => {
  it.each([
    ["rg", "-.f/etc/passwd", "x"],
    ["rg", "-.f../x", "x"],
    ["curl", "-#o../x"],
    ["curl", "-F", "x=</etc/passwd", "u"],
    ["gcc", "-Wl,-T,/etc/x"],
    ["gawk", "-W", "file=/etc/x"],
  ])(
    "a value behind any option letter, `=<` and `,`, and code only where the options were read: %s %s",
    (...argv) => {
      expect(atAllowAll(...argv)).toBe("deny");
    },
  );

  it.each([
    "x=/etc/passwd; cat $x",
    "X=/etc/passwd cat",
    "a=(/etc/passwd)",
    "for f in /etc/passwd; do cat $f; done",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: shell text
    "cat ${x:-/etc/passwd}",
    "{ cat; } < /etc/passwd",
    "while read l; do :; done < /etc/passwd",
  ])("every word of shell text that can be a path: %s", (text) => {
    expect(atAllowAll("sh", "-c", text)).toBe("deny");
  });

  const withLink = (link: string, cwd: string, ...argv: string[]) =>
    decide(
      decisionRequest(argv, {
        cwd,
        workspaceFacts: workspaceFacts({
          get: (path: string) => (path === link ? "outside" : "missing"),
        } as ReadonlyMap<string, "outside" | "missing">),
      }),
      policy,
    ).verdict;

  it("a link that is named behind several option letters", () => {
    expect(withLink("link", ".", "grep", "-nflink", "x")).toBe("deny");
    expect(withLink("link", ".", "env", "-iClink", "ls")).toBe("deny");
    expect(withLink("link", ".", "grep", `-${"n".repeat(300)}flink`, "x")).toBe("deny");
  });

  it("the session's directory, which may have become a link", () => {
    expect(withLink("a", "a", "ls")).toBe("deny");
    expect(withLink("b", "a", "ls")).toBe("allow");
  });

  it("paths from where every change of directory leads, and from where none does", () => {
    const chain = ["a", "b", "c", "d", "e", "f"];
    const argv = [...chain.flatMap((directory) => ["env", "-C", directory]), "cat", "link"];
    expect(withLink(`${chain.join("/")}/link`, ".", ...argv)).toBe("deny");
    expect(withLink("w/link", "w", "sh", "-c", "(cd a); cat link")).toBe("deny");
  });
});

describe("a vector granted as a prefix", () => {
  const granted = (vector: Omit<GrantedVector, "usesLeft">, ...argv: string[]) =>
    decide(
      decisionRequest(argv, { grant: { ...OPEN_GRANT, vectors: [{ ...vector, usesLeft: null }] } }),
      policy,
    ).verdict;
  const prefix = (...argv: string[]) => ({ argv, match: "prefix" as const });

  it("does not grant what a wrapper or a shell runs behind it", () => {
    expect(granted(prefix("env"), "env", "rm", "x")).toBe("ask");
    expect(granted(prefix("sh"), "sh", "-c", "rm x")).toBe("ask");
    expect(granted(prefix("timeout", "5"), "timeout", "5", "unknown-tool")).toBe("ask");
    expect(granted(prefix("find"), "find", ".", "-exec", "rm", "{}", ";")).toBe("ask");
    expect(granted(prefix("strace"), "strace", "-f", "rm", "x")).toBe("ask");
  });

  it("grants an inner command whose beginning it names, as an exact vector grants all of its words", () => {
    expect(granted(prefix("timeout", "5", "npm", "test"), "timeout", "5", "npm", "test", "x")).toBe("allow");
    expect(granted(prefix("sh"), "sh", "build.sh")).toBe("allow");
    const argv = ["sh", "-c", "rm x"];
    expect(granted({ argv, match: "exact" }, ...argv)).toBe("allow");
  });
});

describe("a later policy file", () => {
  it("can't make a path program text", () => {
    const later = `version: 1
interpreters: [{ names: [cat], code_operand: true, reason: r }]
wrappers: [{ names: [head], text_options: ["-n"], takes_value: ["-n"], inner: none, reason: r }]
`;
    const both = policyOf(defaultPolicyText(), later);
    for (const argv of [
      ["cat", "/etc/passwd"],
      ["head", "-n", "#=/etc/passwd"],
    ]) {
      expect(decide(decisionRequest(argv), both).verdict, argv.join(" ")).toBe("deny");
    }
  });

  it("can't hide rules in a second YAML document", () => {
    expect(() => policyOf("version: 1\n---\nversion: 1\ndefault: deny\n")).toThrow(/multiple documents/);
  });
});

it("the work of one request is bounded, whatever its texts, clusters and directories repeat", () => {
  const hostile: readonly (readonly string[])[] = [
    ["strace", ...Array.from({ length: 63 }, () => "a b;".repeat(4_000))],
    ["tar", `x${"I".repeat(70)}`, ...Array.from({ length: 60 }, () => "a b;".repeat(4_000))],
    ["sh", "-c", "cd a;".repeat(6_500)],
    ["sh", "-c", `echo ${"${x:-".repeat(6_500)}`],
    ["env", ...Array.from({ length: 15 }, () => ["-C", "a/".repeat(30_000), "env"]).flat(), "ls"],
    ["cat", ...Array.from({ length: 4_000 }, () => `-${"a".repeat(255)}`)],
  ];
  for (const argv of hostile) {
    const start = performance.now();
    decide(decisionRequest(argv), policy);
    expect(performance.now() - start, argv.slice(0, 2).join(" ").slice(0, 40)).toBeLessThan(4_000);
  }
});
