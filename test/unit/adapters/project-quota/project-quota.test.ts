import { mkdir, mkdtemp, rename, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createProjectQuota } from "../../../../src/adapters/project-quota/project-quota.js";
import { QuotaProgramFault, type RunProgram } from "../../../../src/adapters/project-quota/quota-programs.js";

const MOUNTED = "1 0 7:1 / / rw - xfs /dev/loop1 rw,prjquota\n";

let root: string;
let calls: string[][];
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "bailiff-quota-"));
  calls = [];
});
afterEach(() => rm(root, { recursive: true }));

/** The programs, over projects and limits kept here; `broken` takes the place of some. */
function programs(broken: Partial<Record<string, RunProgram>> = {}): RunProgram {
  const projects = new Map<string, string>();
  const limits = new Map<string, readonly string[]>();
  return async (program, argv) => {
    calls.push([program, ...argv]);
    const own = broken[program];
    if (own !== undefined) return own(program, argv);
    const path = argv.at(-1) ?? "";
    if (program === "lsattr") return `${projects.get(path) ?? "0 -----------------"} ${path}\n`;
    if (program === "chattr") projects.set(path, `${argv[1]} -----------------P`);
    if (program === "setquota") limits.set(argv[1] ?? "", argv);
    if (program !== "quota") return "";
    const [, , soft, hard, softInodes, hardInodes] = limits.get(path) ?? [];
    return `/dev/loop1 0 ${soft} ${hard} 0 1 ${softInodes} ${hardInodes} 0\n`;
  };
}

const quotaWith = (run: RunProgram, mounts = MOUNTED) =>
  createProjectQuota({
    root,
    limits: { bytes: 4 << 20, inodes: 20 },
    run,
    readMounts: async () => mounts,
  });

const notHeld = (reason: string | RegExp) => ({ held: false, reason: expect.stringMatching(reason) });
const fails = (why: string) => async () => {
  throw new QuotaProgramFault(why);
};

test("an empty workspace becomes a project by its inode number, bounded before it is one, and once", async () => {
  const path = join(root, "work space");
  await mkdir(path);
  const { ino } = await stat(path);
  const quota = quotaWith(programs());
  expect(await Promise.all([quota.hold(path), quota.hold(path)])).toEqual([{ held: true }, { held: true }]);
  expect(calls).toEqual([
    ["setquota", "-P", String(ino), "0", "4096", "0", "21", "/"],
    ["quota", "-P", "-v", "-w", "-p", String(ino)],
    ["lsattr", "-pd", "--", path],
    ["chattr", "-p", String(ino), "+P", "--", path],
    ["lsattr", "-pd", "--", path],
  ]);
});

test("another directory that takes the name is looked at for itself", async () => {
  const path = join(root, "w");
  await mkdir(path);
  const quota = quotaWith(programs());
  await quota.hold(path);
  await rename(path, join(root, "gone"));
  await mkdir(path);
  calls = [];
  await quota.hold(path);
  expect(calls.map(([program]) => program)).toContain("setquota");
});

test("a workspace that has files and no project is left alone", async () => {
  const path = join(root, "w");
  await mkdir(path);
  await writeFile(join(path, "file"), "");
  expect(await quotaWith(programs()).hold(path)).toEqual(notHeld("it had files before it had a project"));
  expect(calls.map(([program]) => program)).not.toContain("chattr");
});

test("what is no directory is not held, and nothing is run for it", async () => {
  await writeFile(join(root, "file"), "");
  const quota = quotaWith(programs());
  expect(await quota.hold(join(root, "file"))).toEqual(notHeld("it is not there"));
  expect(await quota.hold(join(root, "nothing"))).toEqual(notHeld("it is not there"));
  expect(calls).toEqual([]);
});

test.each([
  [
    "no quota on the file system",
    {},
    "1 0 7:1 / / rw - ext4 /dev/vda rw",
    "^ext4 at / is mounted without prjquota",
  ],
  ["no mounts to be seen", {}, "", "can't be read"],
  [
    "a missing program",
    { setquota: fails("setquota is not installed") },
    MOUNTED,
    "^setquota is not installed$",
  ],
  [
    "no permission",
    { setquota: fails("setquota failed: Operation not permitted") },
    MOUNTED,
    "not permitted$",
  ],
  ["a limit that is not there afterwards", { quota: async () => "" }, MOUNTED, "^limits that were set"],
  ["another limit", { quota: async () => "/dev/loop1 0 0 0 0 1 0 21 0" }, MOUNTED, "^limits that were set"],
  ["a project that is not there afterwards", { chattr: async () => "" }, MOUNTED, "^a project that was set"],
  ["words that are not understood", { lsattr: async () => "?" }, MOUNTED, "^lsattr says nothing"],
])("with %s, quotas are tried out and not in force", async (_what, broken, mounts, reason) => {
  expect(await quotaWith(programs(broken), mounts).tryOut()).toEqual(notHeld(reason));
});

test("a program that failed is asked again the next time", async () => {
  let isThere = false;
  const setquota: RunProgram = async () => {
    if (!isThere) throw new QuotaProgramFault("setquota is not installed");
    return "";
  };
  const path = join(root, "w");
  await mkdir(path);
  const quota = quotaWith(programs({ setquota, quota: async () => "/dev/loop1 0 0 4096 0 1 0 21 0" }));
  expect((await quota.hold(path)).held).toBe(false);
  isThere = true;
  expect(await quota.hold(path)).toEqual({ held: true });
});

test("a directory shares the project of a workspace that has one, and only that", async () => {
  const [path, staging] = [join(root, "w"), join(root, "s")];
  await mkdir(path);
  await mkdir(staging);
  const quota = quotaWith(programs());
  await quota.share(path, staging);
  expect(calls.map(([program]) => program)).toEqual(["lsattr"]);
  await quota.hold(path);
  calls = [];
  await quota.share(path, staging);
  const { ino } = await stat(path);
  expect(calls).toContainEqual(["chattr", "-p", String(ino), "+P", "--", staging]);
});
