import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MAX_PATH_CANDIDATES } from "../../../src/domain/containment/containment.js";
import { type PathFact, workspaceFacts } from "../../../src/domain/containment/workspace-facts.js";
import { LAYERS } from "../../../src/domain/decision/decision.js";
import { POLICY_LEVELS } from "../../../src/domain/decision/grant.js";
import { isAtLeastAsStrict } from "../../../src/domain/decision/strictest.js";
import { type DecisionInput, decide, pathCandidates } from "../../../src/domain/pipeline.js";
import { decisionRequest, defaultPolicy, OPEN_GRANT } from "../../support/policy/decision-request.js";

const policy = defaultPolicy();

const quote = (token: string) => `'${token.replaceAll("'", `'\\''`)}'`;
const joined = (argv: readonly string[]) => argv.map(quote).join(" ");

/** Ways to run an argv through something else without changing what is run. */
const WRAPPINGS: Readonly<Record<string, (argv: readonly string[]) => readonly string[]>> = {
  env: (argv) => ["env", ...argv],
  "env -i A=1": (argv) => ["env", "-i", "A=1", ...argv],
  "env -u X --": (argv) => ["env", "-u", "X", "--", ...argv],
  "env -C": (argv) => ["env", "--chdir=.", ...argv],
  nice: (argv) => ["nice", "-n", "5", ...argv],
  "nice -5": (argv) => ["nice", "-5", ...argv],
  nohup: (argv) => ["nohup", "--", ...argv],
  timeout: (argv) => ["timeout", "--signal=KILL", "5", ...argv],
  "timeout -k": (argv) => ["timeout", "-k1", "5s", ...argv],
  stdbuf: (argv) => ["stdbuf", "-oL", ...argv],
  setsid: (argv) => ["setsid", "-w", ...argv],
  ionice: (argv) => ["ionice", "-c3", ...argv],
  time: (argv) => ["time", "-p", ...argv],
  xargs: (argv) => ["xargs", "-n1", ...argv],
  flock: (argv) => ["flock", "-n", "lock", ...argv],
  "flock -c": (argv) => ["flock", "lock", "-c", joined(argv)],
  busybox: (argv) => ["busybox", ...argv],
  find: (argv) => ["find", ".", "-exec", ...argv, ";"],
  "find +": (argv) => ["find", ".", "-execdir", ...argv, "{}", "+"],
  "sh -c": (argv) => ["sh", "-c", joined(argv)],
  "bash -lc": (argv) => ["bash", "-lc", `true && ${joined(argv)}`],
  "bash -o -c": (argv) => ["bash", "-eo", "pipefail", "-c", `x=$(${joined(argv)})`],
  "sh -c exec $@": (argv) => ["sh", "-c", 'exec "$@"', "_", ...argv],
  eval: (argv) => ["sh", "-c", `eval ${quote(joined(argv))}`],
  script: (argv) => ["script", "-qc", joined(argv), "/dev/null"],
  watch: (argv) => ["watch", "-n", "1", joined(argv)],
  sudo: (argv) => ["sudo", "--", ...argv],
  "nice with an unknown option": (argv) => ["nice", "--strange", ...argv],
  "ld.so": (argv) => ["ld.so", "--strange", ...argv],
};

const wrapping = fc.constantFrom(...Object.keys(WRAPPINGS));
const wrap = (argv: readonly string[], names: readonly string[]) =>
  names.reduce((inner, name) => WRAPPINGS[name]?.(inner) ?? inner, argv);

const executable = fc.constantFrom(
  "ls",
  "cat",
  "rm",
  "./rm",
  "RM",
  "sudo",
  "git",
  "./git",
  "git-status",
  "curl",
  "python3",
  "/usr/bin/python3",
  "/usr/bin/ls",
  "sed",
  "sh",
  "find",
  "unknown",
  "mkfs.ext4",
  "../x",
  "bin/tool",
  "dd",
  "sort",
  "rg",
  "awk",
  "npm",
  "docker",
);
const token = fc.oneof(
  fc.constantFrom(
    "-rf",
    "--recurs",
    "-r",
    "x",
    "a/b",
    "../x",
    "/etc/passwd",
    "link",
    "link/x",
    "status",
    "push",
    "-c",
    "git push",
    "--",
    "-",
    "",
    "*",
    "$HOME",
    "a b",
    "of=/dev/sda",
    "--pre=x",
    "-delete",
    "file:x",
    "%2e%2e/x",
    "-o",
    "out",
    "1,5p",
    "s/a/b/e",
    "it's",
    '"',
    "install",
    "--version",
    "/dev/null",
    "~",
  ),
  fc
    .string({ maxLength: 8 })
    .filter((text) => text !== ";" && text !== "+" && text.isWellFormed() && !text.includes("\0")),
);
const argvOf = fc
  .tuple(executable, fc.array(token, { maxLength: 5 }))
  .map(([first, rest]) => [first, ...rest]);

const facts = workspaceFacts({
  get: (path: string): PathFact => (path.startsWith("link") ? "outside" : "missing"),
} as ReadonlyMap<string, PathFact>);

const request = fc
  .record({
    argv: argvOf,
    cwd: fc.constantFrom(".", "a"),
    level: fc.constantFrom(...POLICY_LEVELS),
    executables: fc.constantFrom(null, ["ls", "cat", "env", "sh"], ["*"]),
    sensitivity: fc.constantFrom("public", "normal", "secret"),
  })
  .map(({ argv, cwd, level, executables, sensitivity }) =>
    decisionRequest(argv, {
      cwd,
      grant: { ...OPEN_GRANT, level, executables },
      workspaceFacts: facts,
      sessionLabel: { sensitivity, trust: "unknown", categories: [], tenant: "acme" },
    }),
  );

const RUNS = { numRuns: 1_000 };

describe("the decision", () => {
  it("of a wrapped argv is never laxer than of the bare one, however often it is wrapped", () => {
    fc.assert(
      fc.property(request, fc.array(wrapping, { minLength: 1, maxLength: 4 }), (input, names) => {
        const bare = decide(input, policy);
        const wrapped = decide({ ...input, argv: wrap(input.argv, names) }, policy);
        expect(
          isAtLeastAsStrict(wrapped.verdict, bare.verdict),
          JSON.stringify([bare, wrapped], null, 1),
        ).toBe(true);
      }),
      RUNS,
    );
  });

  it("is a deny when it is wrapped deeper than the policy reads", () => {
    const names = Array.from({ length: 40 }, () => "env");
    expect(decide(decisionRequest(wrap(["ls"], names)), policy).verdict).toBe("deny");
  });

  it("never gets laxer by another spelling of a path or a name", () => {
    const path = fc.constantFrom(
      "../x",
      "/etc/passwd",
      "a/../../x",
      "link/x",
      "~/x",
      "..",
      "/workspace/../x",
      "C:\\x",
      "%2e%2e/x",
    );
    const respell: fc.Arbitrary<(text: string) => string> = fc.constantFrom(
      (text: string) => (/^(?:[/\\~%]|[A-Z]:)/.test(text) ? text : `./${text}`),
      (text: string) => text.replace("/", "//"),
      (text: string) => (/^(?:[/\\~%]|[A-Z]:)/.test(text) ? text : `a/../${text}`),
      (text: string) => text.replace("..", "%2e%2e"),
      (text: string) => text.replace("/", "%2f"),
      (text: string) => text.replace("/", "\\"),
    );
    const carrier = fc.constantFrom("", "--file=", "@", "k=", "-I", "a:", "--k=@");
    fc.assert(
      fc.property(path, fc.array(respell, { maxLength: 3 }), carrier, (text, steps, before) => {
        const spelled = before + steps.reduce<string>((current, step) => step(current), text);
        const input = { workspaceFacts: facts };
        expect(decide(decisionRequest(["cat", text], input), policy).verdict).toBe("deny");
        expect(decide(decisionRequest(["cat", spelled], input), policy).verdict, spelled).toBe("deny");
      }),
      RUNS,
    );
  });

  it("FB-33 never gets laxer by another spelling of an executable", () => {
    const respell = fc.constantFrom(
      (name: string) => `./${name}`,
      (name: string) => `bin/${name}`,
      (name: string) => `/bin/${name}`,
      (name: string) => name.toUpperCase(),
      (name: string) => `${name}.exe`,
      (name: string) => ` ${name}`,
    );
    const name = fc.constantFrom(
      "rm",
      "sudo",
      "git",
      "docker",
      "curl",
      "python3",
      "npm",
      "ls",
      "mkfs.ext4",
      "sh",
    );
    fc.assert(
      fc.property(
        name,
        respell,
        fc.array(token, { maxLength: 4 }),
        fc.constantFrom(...POLICY_LEVELS),
        (bare, step, rest, level) => {
          const grant = { grant: { ...OPEN_GRANT, level } };
          const before = decide(decisionRequest([bare, ...rest], grant), policy).verdict;
          // At the blocklist level what no rule names runs: a path is not the name, and so only asks and denies carry over.
          const after = decide(decisionRequest([step(bare), ...rest], grant), policy).verdict;
          expect(
            isAtLeastAsStrict(after, before),
            JSON.stringify([bare, step(bare), rest, level, before, after]),
          ).toBe(true);
        },
      ),
      RUNS,
    );
  });

  it("never throws, is the same every time, and says every layer", () => {
    const anyToken = fc.oneof(
      fc.string({ unit: "binary", maxLength: 30 }),
      token,
      fc.string({
        unit: fc.constantFrom("'", '"', "$", "(", ")", "{", "}", "`", "<", "\n", "a", " ", "\\"),
        maxLength: 20,
      }),
    );
    fc.assert(
      fc.property(
        request,
        fc.array(anyToken, { maxLength: 8 }),
        fc.array(wrapping, { maxLength: 2 }),
        (input, argv, names) => {
          const asked: DecisionInput = { ...input, argv: wrap(argv, names) };
          const decision = decide(asked, policy);
          expect(decision.layers.map(({ layer }) => layer)).toEqual(LAYERS);
          expect(decision.layers.some(({ code }) => code === "internal")).toBe(false);
          expect(decide(asked, policy)).toEqual(decision);
          const denies = decision.layers.findIndex(({ verdict }) => verdict === "deny");
          expect(decision.verdict === "deny").toBe(denies >= 0);
          if (denies >= 0) {
            expect(decision.layers.slice(denies + 1).every(({ verdict }) => verdict === "skipped")).toBe(
              true,
            );
            expect(decision.boundFiles).toEqual([]);
          } else
            expect(decision.verdict === "ask").toBe(decision.layers.some(({ verdict }) => verdict === "ask"));
          expect(pathCandidates(asked, policy).length).toBeLessThanOrEqual(MAX_PATH_CANDIDATES);
        },
      ),
      RUNS,
    );
  });

  it("never lets a level or a granted vector change a deny", () => {
    fc.assert(
      fc.property(request, (input) => {
        const strict = decide({ ...input, grant: { ...input.grant, level: "allowlist" } }, policy);
        const loosest = decide(
          {
            ...input,
            grant: {
              ...input.grant,
              level: "allow_all",
              vectors: [{ argv: input.argv, match: "prefix", usesLeft: null }],
            },
          },
          policy,
        );
        if (strict.verdict === "deny") expect(loosest.verdict).toBe("deny");
      }),
      RUNS,
    );
  });

  it("has only looked at paths it asked for beforehand", () => {
    fc.assert(
      fc.property(request, fc.array(wrapping, { maxLength: 3 }), (input, names) => {
        const argv = wrap(input.argv, names);
        const candidates = new Set(pathCandidates({ argv, cwd: input.cwd }, policy));
        decide(
          {
            ...input,
            argv,
            workspaceFacts: {
              resolve: (path) => {
                expect(candidates).toContain(path);
                return "missing";
              },
            },
          },
          policy,
        );
      }),
      RUNS,
    );
  });

  it("stays fast for the largest requests", () => {
    const hostile: readonly (readonly string[])[] = [
      ["cat", "../".repeat(43_000)],
      ["cat", "a=".repeat(65_000)],
      ["cat", `-${"a".repeat(131_000)}`],
      ["cat", "%2e".repeat(43_000)],
      ["cat", "file:".repeat(26_000)],
      ["cat", ":".repeat(131_000)],
      ["cat", "x://".repeat(32_000)],
      Array.from({ length: 4096 }, () => "rm"),
      ["env", ...Array.from({ length: 4095 }, () => "A=1")],
      Array.from({ length: 4096 }, (_, index) => (index % 2 === 0 ? "find" : "-exec")),
      ["nice", "--strange", ...Array.from({ length: 4000 }, () => "sh")],
      ["sh", "-c", "a;".repeat(30_000)],
      ["sh", "-c", "$(".repeat(30_000)],
      ["python3", "-c", "'git".repeat(30_000)],
      ["python3", "-c", "'g".repeat(60_000)],
      ["env", "-S", '"a'.repeat(40_000)],
      ["echo", ...Array.from({ length: 4095 }, (_, index) => `${index}/${"x".repeat(200)}`)],
    ];
    for (const argv of hostile) {
      const start = performance.now();
      decide(decisionRequest(argv), policy);
      pathCandidates({ argv, cwd: "." }, policy);
      expect(performance.now() - start, argv.slice(0, 3).join(" ").slice(0, 60)).toBeLessThan(2_000);
    }
  });
});
