import { chmod, mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createProjectQuota } from "../../../src/adapters/project-quota/project-quota.js";
import { resolveFacts } from "../../../src/adapters/workspace-fs/resolve-facts.js";
import {
  createWorkspaceDirectory,
  type WorkspaceDirectory,
} from "../../../src/adapters/workspace-fs/workspace-directory.js";
import type { QuotaHold } from "../../../src/ports/workspace-quota.js";
import { createDockerBench, type DockerBench } from "../../support/docker-bench.js";
import type { OwnedWorkspace } from "../../support/owned-workspace.js";
import { mountQuotaFileSystem, type QuotaFileSystem } from "../../support/quota-file-system.js";

const MIB = 1 << 20;
const LIMITS = { bytes: 4 * MIB, inodes: 20 };

let files: QuotaFileSystem;
let isTold = false;
let bench: DockerBench;
let root: string;

beforeAll(async () => {
  files = await mountQuotaFileSystem();
  bench = await createDockerBench();
  root = join(files.path, "work spaces");
  await mkdir(root);
  await chmod(root, 0o755);
});
afterAll(async () => {
  await bench?.close();
  await files?.remove();
});

const quotaOfRoot = () => createProjectQuota({ root, limits: LIMITS });

/** Why the rest can't be tried; null where it can. */
function skipsBecause(): string | null {
  if (files.lacks !== null && !isTold) {
    isTold = true;
    process.stdout.write(`\nNo project quota was tried with a container: ${files.lacks}\n`);
  }
  return files.lacks;
}

async function workspaces(): Promise<{ directory: WorkspaceDirectory; holds: QuotaHold[] }> {
  const holds: QuotaHold[] = [];
  const quota = quotaOfRoot();
  const directory = await createWorkspaceDirectory({
    root,
    runnerUid: 10_001,
    runnerGid: 10_001,
    resolveFacts,
    onNew: async (path) => void holds.push(await quota.hold(path)),
  });
  return { directory, holds };
}

/** A new workspace of the tenant acme, held to its limits. */
async function heldWorkspace(id: string): Promise<OwnedWorkspace> {
  const { directory, holds } = await workspaces();
  await directory.ensure("acme", id, 0);
  expect(holds).toEqual([{ held: true }]);
  return directory.locate("acme", id);
}

const shell = (workspace: OwnedWorkspace, script: string) => bench.run(["sh", "-c", script], { workspace });

test("quotas are tried out at the start: in force where the file system has them, and else with the reason", async () => {
  const tried = await quotaOfRoot().tryOut();
  if (files.lacks === null) expect(tried).toEqual({ held: true });
  else expect(tried).toEqual({ held: false, reason: `xfs at ${files.path} is mounted without prjquota` });
});

test("a command that fills its workspace sees the disk full at the limit, no neighbour does, and it can go on when it deletes", async () => {
  if (skipsBecause() !== null) return;
  const [workspace, neighbour] = [await heldWorkspace("full"), await heldWorkspace("neighbour")];
  const fill = await shell(workspace, "dd if=/dev/zero of=full bs=64k count=200");
  expect(fill.ending).toMatchObject({ outcome: "completed", returncode: 1 });
  expect(fill.stderr).toContain("No space left on device");
  expect((await stat(join(workspace.path, "full"))).blocks * 512).toBeLessThanOrEqual(LIMITS.bytes);
  const write = "dd if=/dev/zero of=some bs=64k count=32 2>/dev/null";
  expect((await shell(neighbour, write)).ending).toMatchObject({ returncode: 0 });
  expect((await shell(workspace, `rm full && ${write}`)).ending).toMatchObject({ returncode: 0 });
});

test("it has no more files than its limit, whatever they are", async () => {
  if (skipsBecause() !== null) return;
  const workspace = await heldWorkspace("many");
  const many = await shell(workspace, "for i in $(seq 30); do mkdir d$i || exit 3; done");
  expect(many.ending).toMatchObject({ outcome: "completed", returncode: 3 });
  expect(await readdir(workspace.path)).toHaveLength(LIMITS.inodes);
});

test("neither a command nor a link or a name takes files out of their workspace's quota", async () => {
  if (skipsBecause() !== null) return;
  const workspace = await heldWorkspace("bound");
  const leave = `import fcntl,os
f=os.open('.',os.O_RDONLY)
held=fcntl.ioctl(f,0x801C581F,bytes(28))
fcntl.ioctl(f,0x401C5820,held[:12]+bytes(4)+held[16:])`;
  const left = await bench.run(["python3", "-c", leave], { workspace });
  expect(left.stderr).toContain("Operation not permitted");
  await shell(workspace, "mkdir -p a && touch a/file");
  const neighbour = await heldWorkspace("beside");
  const across = rename(join(workspace.path, "a/file"), join(neighbour.path, "file"));
  await expect(across).rejects.toMatchObject({ code: "EXDEV" });
});

test("a new workspace with the inode number of a deleted one has its own limits and no files to its account", async () => {
  if (skipsBecause() !== null) return;
  await heldWorkspace("first");
  const { directory } = await workspaces();
  await directory.remove("acme", "first");
  const next = await heldWorkspace("next");
  const fill = await shell(next, "dd if=/dev/zero of=full bs=64k count=48");
  expect(fill.ending).toMatchObject({ returncode: 0 });
});

test("a workspace that had files before its file system had quotas is left to the watch", async () => {
  if (skipsBecause() !== null) return;
  const path = join(root, "old");
  await mkdir(join(path, "with files"), { recursive: true });
  expect(await quotaOfRoot().hold(path)).toEqual({
    held: false,
    reason: "it had files before it had a project",
  });
  await rm(path, { recursive: true });
});
