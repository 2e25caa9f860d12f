import { execFile } from "node:child_process";
import { chmod, chown, mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createScratchDirectory } from "../scratch-directory.js";

/** How a child process of a test ended. */
export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A repository in a directory of its own, whose programs leave a mark when they are started. */
export interface HostileRepository {
  /** The workspace: its `.git` is what an agent could have made of it. */
  readonly workspace: string;
  /** A directory beside the workspace that Git has no business in. */
  readonly outside: string;
  /** A program that leaves a mark and copies its input to its output. */
  readonly program: string;
  write(path: string, text: string): Promise<void>;
  config(text: string): Promise<void>;
  /** Runs Git as the workspace's owner with no more environment than named. */
  git(argv: readonly string[], environment?: Readonly<Record<string, string>>): Promise<Ended>;
  /** How often the program was started since the last call. */
  marks(): Promise<number>;
  remove(): Promise<void>;
}

const OWNER = 12_345;

/** Creates a repository with one commit and one modified file, owned by a uid without rights where the test may change uids. */
export async function createHostileRepository(): Promise<HostileRepository> {
  const scratch = await createScratchDirectory();
  const [workspace, outside, marks] = ["workspace", "outside", "marks"].map((name) =>
    join(scratch.path, name),
  );
  if (workspace === undefined || outside === undefined || marks === undefined) throw new Error("unreachable");
  for (const path of [workspace, outside, marks]) {
    await mkdir(path);
    await chmod(path, 0o777);
    if (process.getuid?.() === 0) await chown(path, OWNER, OWNER);
  }
  const program = join(scratch.path, "program.sh");
  await writeFile(program, `#!/bin/sh\nmktemp ${marks}/XXXXXX > /dev/null\nexec cat "$@" 2> /dev/null\n`);
  await chmod(program, 0o755);

  const asOwner =
    process.getuid?.() === 0 ? ["setpriv", `--reuid=${OWNER}`, `--regid=${OWNER}`, "--clear-groups"] : [];
  const start = (argv: readonly string[], environment: Readonly<Record<string, string>>): Promise<Ended> => {
    const [file = "", ...rest] = [...asOwner, ...argv];
    return new Promise((resolve, reject) => {
      const child = execFile(
        file,
        rest,
        {
          cwd: workspace,
          env: { PATH: process.env["PATH"] ?? "", HOME: "/nonexistent", ...environment },
          timeout: 30_000,
        },
        (error, stdout, stderr) => {
          if (error !== null && typeof error.code !== "number") reject(error);
          else resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
        },
      );
      child.stdin?.end();
    });
  };
  const must = async (argv: readonly string[]) => {
    const ended = await start(argv, {
      GIT_AUTHOR_NAME: "a",
      GIT_AUTHOR_EMAIL: "a@example.com",
      GIT_COMMITTER_NAME: "a",
      GIT_COMMITTER_EMAIL: "a@example.com",
      GIT_CONFIG_GLOBAL: "/dev/null",
    });
    if (ended.code !== 0) throw new Error(`${argv.join(" ")}: ${ended.stderr}`);
  };
  const script = (text: string) => must(["sh", "-c", text]);

  await script(
    "git init -q -b main . && echo one > a.txt && echo one > b.txt && git add . && git commit -qm one",
  );
  await script("echo two > a.txt && echo new > c.txt");

  const repository: HostileRepository = {
    workspace,
    outside,
    program,
    async write(path, text) {
      const file = join(workspace, path);
      await mkdir(dirname(file), { recursive: true });
      await rm(file, { recursive: true, force: true });
      await writeFile(file, text);
      await chmod(file, 0o644);
    },
    config: (text) => script(`cat >> .git/config <<'END'\n${text}\nEND`),
    git: (argv, environment = {}) => start(argv, environment),
    async marks() {
      const names = await readdir(marks);
      await Promise.all(names.map((name) => rm(join(marks, name))));
      return names.length;
    },
    remove: scratch.remove,
  };
  return repository;
}
