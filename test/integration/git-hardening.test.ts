import { rename, symlink } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readRepositoryFacts } from "../../src/adapters/workspace-fs/read-repository-facts.js";
import { GIT_VECTORS } from "../../src/domain/git-guard/git-guard.js";
import { hardenGit } from "../../src/domain/git-guard/harden-git.js";
import { repositoryVerdict } from "../../src/domain/git-guard/repository-verdict.js";
import {
  createHostileRepository,
  type Ended,
  type HostileRepository,
} from "../support/git/hostile-repository.js";

let repository: HostileRepository;
beforeEach(async () => {
  repository = await createHostileRepository();
});
afterEach(() => repository.remove());

/** All six vectors as dispatch would run them; fails when the repository is refused. */
async function runHardened(): Promise<ReadonlyMap<string, Ended>> {
  const verdict = repositoryVerdict(await readRepositoryFacts(repository.workspace));
  if (!verdict.ok) throw new Error(`refused: ${verdict.code}`);
  const ended = new Map<string, Ended>();
  for (const vector of GIT_VECTORS) {
    const hardened = hardenGit(vector, verdict.overrides, repository.workspace);
    ended.set(vector.join(" "), await repository.git(hardened.argv, hardened.environment));
  }
  return ended;
}

/** The same six vectors without any hardening: proof that the repository is hostile at all. */
async function runPlain(): Promise<void> {
  for (const vector of GIT_VECTORS) {
    await repository.git(["git", "-c", `safe.directory=${repository.workspace}`, ...vector.slice(1)], {
      GIT_PAGER_IN_USE: "1",
    });
  }
}

async function expectNothingStarted(): Promise<void> {
  await runPlain();
  expect(await repository.marks(), "the trap has to work without hardening").toBeGreaterThan(0);
  const ended = await runHardened();
  expect(await repository.marks()).toBe(0);
  expect(ended.get("git status --short")).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("a.txt"),
  });
  expect(ended.get("git diff")).toMatchObject({ code: 0, stdout: expect.stringContaining("+two") });
}

async function verdictCode(): Promise<string> {
  const verdict = repositoryVerdict(await readRepositoryFacts(repository.workspace));
  return verdict.ok ? "ok" : verdict.code;
}

describe("hardened Git in an ordinary repository", () => {
  it("answers all six vectors as plain Git does", async () => {
    const ended = await runHardened();
    expect(Object.fromEntries([...ended].map(([vector, { code }]) => [vector, code]))).toEqual({
      "git status": 0,
      "git status --short": 0,
      "git branch --show-current": 0,
      "git rev-parse --show-toplevel": 0,
      "git diff": 0,
      "git diff --stat": 0,
    });
    expect(ended.get("git status --short")?.stdout).toBe(" M a.txt\n?? c.txt\n");
    expect(ended.get("git branch --show-current")?.stdout).toBe("main\n");
    expect(ended.get("git rev-parse --show-toplevel")?.stdout).toBe(`${repository.workspace}\n`);
    expect(ended.get("git diff")?.stdout).toContain("-one\n+two\n");
    expect(ended.get("git diff --stat")?.stdout).toContain("1 file changed");
  });

  it("does not change the repository", async () => {
    const index = await repository.git(["sha256sum", ".git/index", ".git/config"]);
    await runHardened();
    expect(await repository.git(["sha256sum", ".git/index", ".git/config"])).toEqual(index);
    expect((await repository.git(["find", ".git", "-name", "*.lock"])).stdout).toBe("");
  });

  it("says so where there is no repository, and finds none above", async () => {
    await rename(join(repository.workspace, ".git"), join(repository.outside, ".git"));
    const ended = await runHardened();
    expect(ended.get("git status")?.code).toBe(128);
    expect(ended.get("git rev-parse --show-toplevel")?.stdout).toBe("");
  });
});

describe("hardened Git in a hostile repository starts no program", () => {
  it("of core.fsmonitor", async () => {
    await repository.config(`[core]\n\tfsmonitor = ${repository.program}`);
    await expectNothingStarted();
  });

  it("of diff.external", async () => {
    await repository.config(`[diff]\n\texternal = ${repository.program}`);
    await expectNothingStarted();
  });

  it("of a diff driver's command", async () => {
    await repository.config(`[diff "evil"]\n\tcommand = ${repository.program}`);
    await repository.write(".gitattributes", "*.txt diff=evil\n");
    await expectNothingStarted();
  });

  it("of a diff driver's textconv", async () => {
    await repository.config(`[diff "evil"]\n\ttextconv = ${repository.program}`);
    await repository.write(".gitattributes", "*.txt diff=evil\n");
    await expectNothingStarted();
  });

  it("of a clean filter", async () => {
    await repository.config(
      `[filter "evil"]\n\tclean = ${repository.program}\n\tsmudge = ${repository.program}\n\trequired`,
    );
    await repository.write(".gitattributes", "*.txt filter=evil\n");
    await expectNothingStarted();
  });

  it("of a process filter with an unusual name", async () => {
    await repository.config(
      `[filter "E=v.i l"]\n\tprocess = ${repository.program}\n[filter.Dotted]\n\tclean = ${repository.program}`,
    );
    await repository.write(".gitattributes", "a.txt filter=dotted\n");
    await repository.write(".git/info/attributes", "b.txt filter=dotted\n");
    await expectNothingStarted();
  });

  it("of a filter in the worktree's own configuration", async () => {
    await repository.config("[core]\n\trepositoryformatversion = 1\n[extensions]\n\tworktreeConfig = true");
    await repository.write(".git/config.worktree", `[filter "evil"]\n\tclean = ${repository.program}\n`);
    await repository.write(".gitattributes", "*.txt filter=evil\n");
    await expectNothingStarted();
  });

  it("of hooks", async () => {
    await repository.config("[core]\n\thooksPath = hooks");
    for (const hook of ["post-index-change", "fsmonitor-watchman", "reference-transaction", "pre-auto-gc"]) {
      await repository.write(`hooks/${hook}`, `#!/bin/sh\nexec ${repository.program}\n`);
      await repository.write(`.git/hooks/${hook}`, `#!/bin/sh\nexec ${repository.program}\n`);
      await repository.git(["chmod", "755", `hooks/${hook}`, `.git/hooks/${hook}`]);
    }
    await repository.git(["touch", "b.txt"]);
    await runHardened();
    expect(await repository.marks()).toBe(0);
  });

  it("of pagers and aliases", async () => {
    await repository.config(
      `[core]\n\tpager = ${repository.program}\n[pager]\n\tstatus = ${repository.program}\n\tdiff = ${repository.program}\n[alias]\n\tstatus = !${repository.program}\n\tdiff = !${repository.program}`,
    );
    await runHardened();
    expect(await repository.marks()).toBe(0);
  });

  it("of a submodule's own configuration", async () => {
    const inner = `git -C sub -c user.name=a -c user.email=a@example.com`;
    const made = await repository.git([
      "sh",
      "-c",
      `git init -q sub && echo 1 > sub/f && ${inner} add f && ${inner} commit -qm 1 && git add sub && printf '[submodule "sub"]\\n\\tpath = sub\\n\\turl = ./sub\\n\\tignore = none\\n' > .gitmodules && echo 2 > sub/f && printf '[core]\\n\\tfsmonitor = ${repository.program}\\n' >> sub/.git/config && printf '[submodule "sub"]\\n\\tignore = none\\n\\tactive = true\\n' >> .git/config`,
    ]);
    expect(made).toMatchObject({ code: 0 });
    await expectNothingStarted();
  });

  it("of a promisor remote", async () => {
    await repository.config(
      `[core]\n\trepositoryformatversion = 1\n\tsshCommand = ${repository.program}\n[extensions]\n\tpartialClone = origin\n[remote "origin"]\n\turl = ext::${repository.program} /dev/null\n\tpromisor = true\n\tpartialclonefilter = blob:none\n\tuploadpack = ${repository.program}\n[protocol "ext"]\n\tallow = always\n[protocol]\n\tallow = always`,
    );
    await repository.git(["sh", "-c", "rm -f $(git rev-parse HEAD:a.txt | sed 's#^..#.git/objects/&/#')"]);
    await runPlain();
    expect(await repository.marks(), "the trap has to work without hardening").toBeGreaterThan(0);
    await runHardened();
    expect(await repository.marks()).toBe(0);
  });
});

describe("hardened Git works nowhere but in the workspace", () => {
  it("ignores core.worktree", async () => {
    await repository.write("../outside/secret.txt", "secret\n");
    await repository.config(`[core]\n\tworktree = ${repository.outside}`);
    const ended = await runHardened();
    expect(ended.get("git rev-parse --show-toplevel")?.stdout).toBe(`${repository.workspace}\n`);
    expect(ended.get("git status")?.stdout).not.toContain("secret");
  });

  it("ignores a commondir that points elsewhere", async () => {
    await repository.git(["sh", "-c", `git init -q ${repository.outside}/other`]);
    await repository.git([
      "sh",
      "-c",
      `printf '[diff]\\n\\texternal = ${repository.program}\\n[core]\\n\\tfsmonitor = ${repository.program}\\n[filter "x"]\\n\\tclean = ${repository.program}\\n' >> ${repository.outside}/other/.git/config`,
    ]);
    await repository.write(".gitattributes", "*.txt filter=x\n");
    await repository.write(".git/commondir", `${repository.outside}/other/.git\n`);
    await runPlain();
    await repository.marks();
    const ended = await runHardened();
    expect(await repository.marks()).toBe(0);
    expect(ended.get("git branch --show-current")?.stdout).toBe("main\n");
  });

  it("is refused where .git is a file that points elsewhere", async () => {
    await rename(join(repository.workspace, ".git"), join(repository.outside, "git"));
    await repository.write(".git", `gitdir: ${repository.outside}/git\n`);
    expect(await verdictCode()).toBe("git_directory");
  });

  it("is refused where .git or a part of it is a symbolic link", async () => {
    await rename(join(repository.workspace, ".git/objects"), join(repository.outside, "objects"));
    await symlink(join(repository.outside, "objects"), join(repository.workspace, ".git/objects"));
    expect(await verdictCode()).toBe("git_links");
    await rename(join(repository.workspace, ".git"), join(repository.outside, "git"));
    await symlink(join(repository.outside, "git"), join(repository.workspace, ".git"));
    expect(await verdictCode()).toBe("git_directory");
  });

  it("is refused where objects are borrowed", async () => {
    await repository.write(".git/objects/info/alternates", `${repository.outside}/objects\n`);
    expect(await verdictCode()).toBe("git_alternates");
  });

  it("is refused where the configuration includes files, in any spelling", async () => {
    await repository.config("[InClude]\n\tpath = ../evil");
    expect(await verdictCode()).toBe("git_include");
  });

  it("is refused where the configuration includes files on a condition", async () => {
    await repository.config('[includeIf "gitdir:/"] path = ../evil');
    expect(await verdictCode()).toBe("git_include");
  });

  it("is refused where the configuration is no text Git reads", async () => {
    await repository.config("[core");
    expect(await verdictCode()).toBe("git_config");
  });
});
