import { describe, expect, it } from "vitest";
import { readGitConfigText } from "../../../../src/domain/git-guard/git-config-text.js";
import { GIT_VECTORS, gitGuardVerdict } from "../../../../src/domain/git-guard/git-guard.js";
import { hardenGit } from "../../../../src/domain/git-guard/harden-git.js";
import { repositoryVerdict } from "../../../../src/domain/git-guard/repository-verdict.js";
import { seeThrough } from "../../../../src/domain/policy/see-through.js";
import { defaultPolicy } from "../../../support/policy/decision-request.js";

const policy = defaultPolicy();
const codeOf = (argv: readonly string[], cwd = ".") =>
  gitGuardVerdict(seeThrough(argv, cwd, policy), cwd).code;

describe("the git guard", () => {
  it("passes exactly the six vectors at the workspace root", () => {
    expect(GIT_VECTORS.map((vector) => codeOf(vector))).toEqual(GIT_VECTORS.map(() => "ok"));
    expect(GIT_VECTORS.map((vector) => codeOf(vector, "a"))).toEqual(
      GIT_VECTORS.map(() => "git_not_at_root"),
    );
    for (const vector of GIT_VECTORS) {
      expect(codeOf([...vector, "."])).toBe("git_vector");
      expect(codeOf([...vector, ""])).toBe("git_vector");
      expect(codeOf(["env", ...vector])).toBe("wrapped_git");
    }
  });

  it.each([
    ["GIT", "status"],
    ["Git", "status"],
    ["git ", "status"],
    ["git.exe", "status"],
    ["GIT.CMD", "status"],
    ["./git", "status"],
    ["/usr/bin/git", "status"],
    [".\\git", "status"],
    ["git/", "status"],
    ["git-status"],
    ["/usr/lib/git-core/git-diff"],
    ["git", "-C", ".", "status"],
    ["git", "-c", "core.pager=sh", "diff"],
    ["/usr/bin/git", "push"],
    ["GIT", "push"],
  ])("refuses the spelling %s %s (FB-33)", (...argv) => {
    expect(codeOf(argv)).toBe("git_vector");
  });

  it.each([
    ["sh", "-c", "g''it push"],
    ["sh", "-c", "\\git push"],
    ["sh", "-c", "if x; then (git push); fi"],
    ["sh", "-c", "f() { git push; }; f"],
    ["sh", "-c", "echo `git push`"],
    ["sh", "-c", "cat <(git log)"],
    ["sh", "-c", "x=$(git log)"],
    ["sh", "-c", "x=git; $x push"],
    ["sh", "-c", "alias g=git; g push"],
    ["sh", "-c", "if git push"],
    ["sh", "-c", '"$@"', "_", "git", "push"],
    ["sh", "-c", 'exec "$0" push', "git"],
    ["sh", "-c", "bash -c 'git push'"],
    ["sh", "-c", "sh <<< 'git push'"],
    ["sh", "-c", "echo | xargs git"],
    ["zsh", "-c", "=git push"],
    ["fish", "-c", "git push"],
    ["env", "-S", "git $X"],
    ["find", ".", "-ok", "git", "push", ";"],
    ["nice", "--strange", "git", "push"],
    ["unshare", "-r", "git", "push"],
    ["strace", "-f", "-e", "trace=x", "git", "push"],
    ["busybox", "env", "git", "push"],
    ["ssh", "host", "git push"],
    ["rsync", "-e", "git push", "a", "b"],
    ["tar", "--to-command", "git push", "-xf", "a"],
    ["rg", "--pre", "git", "x"],
    ["python3", "-c", "import os; os.system('git push')"],
    ["python3", "-c", "import os; os.system('cd x && git push')"],
    ["python3", "-c", "import os; os.system('env git push')"],
    ["python3", "-c", "import subprocess as s; s.run(['git', 'push'])"],
    ["python3", "-c", 's.run(["/usr/bin/git","push"])'],
    ["node", "-e", "require('child_process').execSync(`git push`)"],
    ["perl", "-e", "system('git push')"],
    ["perl", "-e", "`git push`"],
    ["perl", "-e", "exec qw(git push)"],
    ["ruby", "-e", "%x(git push)"],
    ["awk", 'BEGIN{system("git push")}'],
    ["awk", 'BEGIN{"git log" | getline}'],
    ["make", "--eval=x:;git push"],
    ["vim", "-c", ":!git push"],
    ["./python3", "-c", "os.system('git push')"],
  ])("refuses Git visible in %j %j %j", (...argv) => {
    expect(codeOf(argv)).toBe("wrapped_git");
  });

  it.each([
    ["echo", "git", "push"],
    ["cat", "git/config"],
    ["gitk"],
    ["digit"],
    ["rg", "git push", "src"],
    ["sh", "-c", "echo git push"],
    ["sh", "-c", "echo 'run git push'"],
    ["python3", "-c", "print('I like git very much')"],
    ["python3", "-c", "digits = 1"],
    ["node", "git.js"],
  ])("has nothing against %j %j %j", (...argv) => {
    expect(codeOf(argv)).toBe("ok");
  });
});

describe("the hardened form", () => {
  it("keeps the vector's own words behind the options that beat attributes", () => {
    expect(hardenGit(["git", "diff", "--stat"]).argv).toEqual([
      "git",
      "--no-pager",
      "--no-optional-locks",
      "--no-replace-objects",
      "diff",
      "--no-ext-diff",
      "--no-textconv",
      "--no-color",
      "--ignore-submodules=dirty",
      "--stat",
    ]);
  });

  it("numbers every override and puts the repository's own last", () => {
    const { environment } = hardenGit(["git", "status"], [["filter.x.clean", ""]]);
    const count = Number(environment["GIT_CONFIG_COUNT"]);
    expect(environment[`GIT_CONFIG_KEY_${count - 1}`]).toBe("filter.x.clean");
    expect(environment[`GIT_CONFIG_VALUE_${count - 1}`]).toBe("");
    for (let index = 0; index < count; index++) {
      expect(environment).toHaveProperty(`GIT_CONFIG_KEY_${index}`);
      expect(environment).toHaveProperty(`GIT_CONFIG_VALUE_${index}`);
    }
    expect(environment).not.toHaveProperty(`GIT_CONFIG_KEY_${count}`);
  });
});

describe("a Git configuration's text", () => {
  it("is read as Git reads it", () => {
    const text = [
      "\uFEFF# comment",
      "[Core] bare = false ; comment",
      '[filter "A \\"b\\\\ c"]',
      "\tClean = \"sh -c 'x # y'\" # comment",
      "required",
      "[Filter.Dotted]\r",
      "process = a \\",
      "b",
    ].join("\n");
    expect(readGitConfigText(text)).toEqual([
      { section: "core", subsection: undefined, key: "bare", value: "false" },
      { section: "filter", subsection: 'A "b\\ c', key: "clean", value: "sh -c 'x # y'" },
      { section: "filter", subsection: 'A "b\\ c', key: "required", value: undefined },
      { section: "filter", subsection: "dotted", key: "process", value: "a b" },
    ]);
  });

  it.each([
    "[core",
    "key = value",
    "[a]\nx y",
    '[a "b]\nx=1',
    '[a]\nx = "',
    "[a]\nx = \\q",
    "[]\n",
    "[a]\n=1",
  ])("is refused where Git would refuse it: %j", (text) => {
    expect(readGitConfigText(text)).toBeUndefined();
  });
});

describe("a repository", () => {
  const facts = { dotGit: "directory", configs: [], hasAlternates: false, hasLinks: false } as const;

  it("is fine when it is ordinary or not there", () => {
    expect(repositoryVerdict(facts)).toEqual({ ok: true, overrides: [] });
    expect(repositoryVerdict({ ...facts, dotGit: "missing" })).toEqual({ ok: true, overrides: [] });
  });

  it("has its filters emptied by name, from every file", () => {
    const verdict = repositoryVerdict({
      ...facts,
      configs: ['[filter "lfs"]\nclean = x', "[filter.y]\nprocess = z"],
    });
    expect(verdict.ok && verdict.overrides.map(([key]) => key)).toEqual(
      ["lfs", "y"].flatMap((name) =>
        ["clean", "smudge", "process", "required"].map((key) => `filter.${name}.${key}`),
      ),
    );
  });

  it("is refused with more filters than a person sets up", () => {
    const config = Array.from({ length: 65 }, (_, index) => `[filter "f${index}"]\nclean = x`).join("\n");
    expect(repositoryVerdict({ ...facts, configs: [config] })).toMatchObject({
      ok: false,
      code: "git_filters",
    });
  });
});
