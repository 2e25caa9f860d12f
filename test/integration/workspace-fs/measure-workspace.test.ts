import { execFileSync } from "node:child_process";
import { link, lstat, mkdir, symlink, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { measureWorkspace } from "../../../src/adapters/workspace-fs/measure-workspace.js";
import { createScratchDirectory } from "../../support/scratch-directory.js";

const UNBOUNDED = { bytes: Number.MAX_SAFE_INTEGER, inodes: Number.MAX_SAFE_INTEGER };
let root: string;
let remove: () => Promise<void>;

beforeEach(async () => {
  ({ path: root, remove } = await createScratchDirectory());
});
afterEach(() => remove());

it("counts blocks as du does: holes not, a file with two names once", async () => {
  await mkdir(join(root, "a/b"), { recursive: true });
  await writeFile(join(root, "a/b/file"), Buffer.alloc(300_000, 1));
  await link(join(root, "a/b/file"), join(root, "again"));
  await writeFile(join(root, "hole"), "");
  await truncate(join(root, "hole"), 1 << 30);
  const du = (...options: string[]) =>
    Number(execFileSync("du", ["--summarize", ...options, root], { encoding: "utf8" }).split("\t")[0]);
  const { bytes, inodes } = await measureWorkspace(root, UNBOUNDED);
  // du counts the directory itself as well.
  expect(inodes).toBe(4);
  expect(inodes).toBe(du("--inodes") - 1);
  expect(bytes).toBe(du("--block-size=1") - (await lstat(root)).blocks * 512);
});

it("follows no link, whether it is inside or takes the workspace's own place", async () => {
  await symlink("/", join(root, "everything"));
  await symlink("..", join(root, "parent"));
  expect(await measureWorkspace(root, UNBOUNDED)).toEqual({ bytes: 0, inodes: 2 });
  expect(await measureWorkspace(join(root, "everything"), UNBOUNDED)).toEqual({ bytes: 0, inodes: 0 });
});

it("takes names that are no UTF-8", async () => {
  const name = Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0xff, 0xfe])]);
  await mkdir(name);
  await writeFile(Buffer.concat([name, Buffer.from("/x")]), "x");
  expect((await measureWorkspace(root, UNBOUNDED)).inodes).toBe(2);
});

it("stops soon after the bound", async () => {
  for (let n = 0; n < 20; n += 1) {
    await mkdir(join(root, `${n}`));
    for (let m = 0; m < 20; m += 1) await writeFile(join(root, `${n}`, `${m}`), "");
  }
  const { inodes } = await measureWorkspace(root, { bytes: UNBOUNDED.bytes, inodes: 50 });
  expect(inodes).toBeGreaterThan(50);
  expect(inodes).toBeLessThan(120);
});

it("counts a tree too deep to look into as too many entries", async () => {
  await mkdir(join(root, "d/".repeat(230)), { recursive: true });
  expect((await measureWorkspace(root, { bytes: 1 << 30, inodes: 1_000 })).inodes).toBeGreaterThan(1_000);
});
