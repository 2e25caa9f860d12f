import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runCommandLine } from "../../../src/cli/command-line.js";
import { createCommands } from "../../../src/main/cli-commands.js";
import { createCliWorld } from "../../support/cli-world.js";
import { createScratchDirectory } from "../../support/scratch-directory.js";

const commands = createCommands();
let scratch: Awaited<ReturnType<typeof createScratchDirectory>>;

async function completionFor(shell: string) {
  const world = createCliWorld();
  const status = await runCommandLine({ commands, version: "0", args: ["completion", shell], world });
  return { status, script: world.out(), err: world.err() };
}

beforeAll(async () => {
  scratch = await createScratchDirectory();
  writeFileSync(join(scratch.path, "completion.bash"), (await completionFor("bash")).script);
  mkdirSync(join(scratch.path, "here"));
});
afterAll(() => scratch.remove());

/** What bash offers at the end of these words, the last of which is being written. */
function offered(...words: string[]): { readonly replies: readonly string[]; readonly wantsFiles: boolean } {
  const line = ["bailiff", ...words];
  const script = `
    set -u
    compopt() { printf 'compopt %s %s\n' "$@"; }
    . ${join(scratch.path, "completion.bash")}
    COMP_WORDS=(${line.map((word) => `'${word}'`).join(" ")})
    COMP_CWORD=${words.length}
    _bailiff
    for reply in "\${COMPREPLY[@]-}"; do printf 'reply %s\n' "$reply"; done`;
  const lines = execFileSync("bash", ["--norc", "-c", script], {
    cwd: join(scratch.path, "here"),
    encoding: "utf8",
  }).split("\n");
  return {
    replies: lines.flatMap((each) => (/^reply ./.test(each) ? [each.slice("reply ".length)] : [])),
    wantsFiles: lines.includes("compopt -o default"),
  };
}

describe("completion in bash", () => {
  it("offers every first word, and every second one behind its first", () => {
    const firsts = new Set(commands.map(({ name }) => name.split(" ")[0]));
    expect(new Set(offered("").replies)).toEqual(new Set([...firsts, "help", "--help", "--version"]));
    expect(offered("app").replies).toEqual(["approvals"]);
    expect(offered("approvals", "").replies).toEqual(["ls", "show", "approve", "deny", "watch"]);
    expect(offered("approvals", "a").replies).toEqual(["approve"]);
  });

  it("offers every option of every command", () => {
    for (const { name, options } of commands) {
      const wanted = [...Object.keys(options), "help"].map((option) => `--${option}`);
      expect(offered(...name.split(" "), "--").replies, name).toEqual(wanted);
    }
    expect(offered("audit", "verify", "evidence.jsonl", "--pub").replies).toEqual(["--public-key"]);
  }, 120_000);

  it("offers files where a path is wanted, the words of a choice, and nothing where it can't know", () => {
    expect(offered("run", "--key-file", "").wantsFiles).toBe(true);
    expect(offered("policy", "check", "").wantsFiles).toBe(true);
    expect(offered("run", "--session", "")).toEqual({ replies: [], wantsFiles: false });
    expect(offered("completion", "").replies).toEqual(["bash", "zsh", "fish"]);
    expect(offered("nonsense", "")).toEqual({ replies: [], wantsFiles: false });
  });

  it("leaves the argv behind -- alone", () => {
    expect(offered("run", "--session", "s", "--", "ls", "--")).toEqual({ replies: [], wantsFiles: true });
  });
});

describe("completion in zsh and fish", () => {
  it.each(["zsh", "fish"])("of %s names every command and option", async (shell) => {
    const { script } = await completionFor(shell);
    for (const { name, options } of commands) {
      for (const word of name.split(" ")) expect(script, name).toContain(word);
      for (const option of Object.keys(options)) {
        expect(script, name).toContain(shell === "fish" ? `-l ${option} ` : `--${option}`);
      }
    }
  });
});

it("refuses another shell with 2", async () => {
  const { status, err } = await completionFor("tcsh");
  expect(status).toBe(2);
  expect(err).toContain("takes one of bash, zsh, fish");
});
