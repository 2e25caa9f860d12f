import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readContents } from "../../../src/adapters/workspace-fs/read-contents.js";
import { createScratchDirectory } from "../../support/scratch-directory.js";

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
let root: string;
let remove: () => Promise<void>;

beforeEach(async () => {
  ({ path: root, remove } = await createScratchDirectory());
  await mkdir(join(root, "a"));
  await writeFile(join(root, "a/build.sh"), "echo built\n");
});

afterEach(() => remove());

const read = async (path: string, maxBytes = 1_000) =>
  (await readContents(root, { cwd: ".", files: [path], maxBytes })).files[0];

describe("what an approval binds of a workspace", () => {
  it("is a file's content, read through links that stay inside", async () => {
    await symlink("a", join(root, "link"));
    await symlink("/workspace/a/build.sh", join(root, "absolute"));
    for (const path of ["a/build.sh", "link/build.sh", "absolute"]) {
      expect(await read(path)).toEqual({ kind: "sha256", sha256: sha256("echo built\n") });
    }
    expect(await read("a/none.sh")).toEqual({ kind: "missing" });
    expect((await readContents(root, { cwd: "link", files: [], maxBytes: 0 })).realCwd).toBe("a");
  });

  it("is nothing of a directory, a FIFO, the host, or more than it may read", async () => {
    execFileSync("mkfifo", [join(root, "fifo")]);
    await symlink("/etc/passwd", join(root, "host"));
    expect(await read("a")).toEqual({ kind: "unusable", reason: "not_a_file" });
    expect(await read("fifo")).toEqual({ kind: "unusable", reason: "not_a_file" });
    expect(await read("host")).toEqual({ kind: "unusable", reason: "outside" });
    expect(await read("a/build.sh", 10)).toEqual({ kind: "unusable", reason: "too_large" });
    expect((await readContents(root, { cwd: "host", files: [], maxBytes: 0 })).realCwd).toBeNull();
  });

  it("is bounded over all files together", async () => {
    await writeFile(join(root, "b"), "x".repeat(600));
    const { files } = await readContents(root, { cwd: ".", files: ["b", "b"], maxBytes: 1_000 });
    expect(files.map(({ kind }) => kind)).toEqual(["sha256", "unusable"]);
  });
});
