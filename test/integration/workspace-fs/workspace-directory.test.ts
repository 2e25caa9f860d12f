import { execFile } from "node:child_process";
import {
  chmod,
  chown,
  link,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { resolveFacts } from "../../../src/adapters/workspace-fs/resolve-facts.js";
import {
  createWorkspaceDirectory,
  type WorkspaceDirectory,
} from "../../../src/adapters/workspace-fs/workspace-directory.js";
import { checkWorkspacesRoot } from "../../../src/adapters/workspace-fs/workspaces-root.js";

const exec = promisify(execFile);
const RUNNER = { uid: 10_001, gid: 10_001 };

let base: string;
let root: string;
let outside: string;
let store: WorkspaceDirectory;

const open = () =>
  createWorkspaceDirectory({
    root,
    runnerUid: RUNNER.uid,
    runnerGid: RUNNER.gid,
    resolveFacts,
  });

/** Runs a shell text as the runner; rejects where it fails. */
const asRunner = (text: string, cwd = "/") =>
  exec("sh", ["-c", text], { uid: RUNNER.uid, gid: RUNNER.gid, cwd, env: { PATH: process.env["PATH"] } });

/** Runs a Node script as the runner: fast enough to race with. */
const nodeAsRunner = (script: string, cwd: string) =>
  exec(process.execPath, ["-e", script], { uid: RUNNER.uid, gid: RUNNER.gid, cwd, env: {} });

beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), "bailiff-ws-"));
  await chmod(base, 0o711);
  root = join(base, "root");
  outside = join(base, "outside");
  await mkdir(root, { mode: 0o711 });
  await mkdir(outside, { mode: 0o777 });
  await chmod(outside, 0o777);
  await writeFile(join(outside, "keep"), "kept");
  store = await open();
});
afterEach(() => rm(base, { recursive: true }));

describe("a workspace", () => {
  it("is made for the runner alone, below a tenant's place that is root's", async () => {
    const { workspace, created } = await store.ensure("acme", "app", 0);
    expect(created).toBe(true);
    expect(workspace).toEqual({ tenant: "acme", id: "app", createdAtMs: expect.any(Number), ...RUNNER });
    const made = await stat(join(root, "acme", "app"));
    expect([made.uid, made.gid, made.mode & 0o7777]).toEqual([RUNNER.uid, RUNNER.gid, 0o700]);
    const tenant = await stat(join(root, "acme"));
    expect([tenant.uid, tenant.mode & 0o7777]).toEqual([0, 0o711]);
    await asRunner("echo x > f", join(root, "acme", "app"));
  });

  it("is made once: again gives the same one and leaves its content and mode alone", async () => {
    const first = await store.ensure("acme", "app", 0);
    const path = join(root, "acme", "app");
    await asRunner("echo x > f && chmod 750 .", path);
    expect(await store.ensure("acme", "app", 5)).toEqual({ workspace: first.workspace, created: false });
    expect((await stat(path)).mode & 0o7777).toBe(0o750);
    expect(await readFile(join(path, "f"), "utf8")).toBe("x\n");
  });

  it("asked for many times at once is made once", async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => store.ensure("acme", "app", 0)));
    expect(answers.filter(({ created }) => created)).toHaveLength(1);
    for (const { workspace } of answers) expect(workspace.uid).toBe(RUNNER.uid);
  });

  it("of a creation that was cut off is not there, and the next one finishes it", async () => {
    await store.ensure("acme", "other", 0);
    await mkdir(join(root, "acme", "app"), { mode: 0o1700 });
    expect(await store.get("acme", "app")).toBeNull();
    expect((await store.ensure("acme", "app", 0)).workspace.uid).toBe(RUNNER.uid);
  });

  it("is made with its modes under any umask", async () => {
    const before = process.umask(0o077);
    try {
      await store.ensure("acme", "app", 0);
    } finally {
      process.umask(before);
    }
    expect((await stat(join(root, "acme"))).mode & 0o7777).toBe(0o711);
  });

  it("can't be renamed, replaced or joined by a stranger by its agent", async () => {
    await store.ensure("acme", "app", 0);
    for (const text of [
      "mv app app2",
      "rmdir app",
      "ln -s / app2",
      "mkdir app2",
      "touch ../acme2",
      "ls ..",
    ]) {
      await expect(asRunner(text, join(root, "acme")), text).rejects.toThrow();
    }
    await expect(asRunner(`ls ${root}`), "listing tenants").rejects.toThrow();
  });

  it("that is removed and made again under its name has another identity, and the same while it stays", async () => {
    await store.ensure("acme", "app", 0);
    const { path, identity } = await store.locate("acme", "app");
    await writeFile(join(path, "new"), "");
    expect((await store.locate("acme", "app")).identity).toBe(identity);
    const seen = new Set([identity]);
    for (let life = 1; life <= 5; life += 1) {
      await store.remove("acme", "app");
      await store.ensure("acme", "app", 0);
      seen.add((await store.locate("acme", "app")).identity);
    }
    expect(seen.size).toBe(6);
  });

  it("that belongs to another user than the runner is taken as it is (FB-39)", async () => {
    await mkdir(join(root, "acme"), { mode: 0o711 });
    await mkdir(join(root, "acme", "app"), { mode: 0o700 });
    await chown(join(root, "acme", "app"), 1234, 1234);
    expect(await store.locate("acme", "app")).toEqual({
      path: join(root, "acme", "app"),
      identity: expect.any(String),
      uid: 1234,
      gid: 1234,
    });
    expect((await store.ensure("acme", "app", 0)).created).toBe(false);
  });

  it.each([
    [0, 0],
    [0, 10_001],
    [10_001, 0],
  ])("that belongs to uid %i and gid %i is refused with the reason", async (uid, gid) => {
    await mkdir(join(root, "acme"), { mode: 0o711 });
    await mkdir(join(root, "acme", "app"));
    await chown(join(root, "acme", "app"), uid, gid);
    for (const ask of [
      () => store.ensure("acme", "app", 0),
      () => store.get("acme", "app"),
      () => store.locate("acme", "app"),
    ]) {
      await expect(ask()).rejects.toMatchObject({
        code: "owned_by_root",
        message: expect.stringContaining("never as root"),
      });
    }
    expect((await stat(join(root, "acme", "app"))).uid).toBe(uid);
  });

  it("that is a symbolic link or a file is refused, and what it leads to stays as it is (FB-31)", async () => {
    await mkdir(join(root, "acme"), { mode: 0o711 });
    await symlink(outside, join(root, "acme", "app"));
    await writeFile(join(root, "acme", "file"), "");
    const before = await stat(outside);
    for (const id of ["app", "file"]) {
      for (const ask of [
        () => store.ensure("acme", id, 0),
        () => store.get("acme", id),
        () => store.locate("acme", id),
        () => store.facts("acme", id, ["keep"]),
        () => store.isDirectory("acme", id, "."),
      ]) {
        await expect(ask()).rejects.toMatchObject({ code: "not_a_directory" });
      }
    }
    expect(await stat(outside)).toMatchObject({ uid: before.uid, gid: before.gid, mode: before.mode });
  });

  it("below a tenant's place that is a link is refused (FB-31)", async () => {
    await symlink(outside, join(root, "acme"));
    await mkdir(join(outside, "app"));
    await chown(join(outside, "app"), RUNNER.uid, RUNNER.gid);
    await expect(store.ensure("acme", "app", 0)).rejects.toMatchObject({ code: "not_a_directory" });
    await expect(store.locate("acme", "app")).rejects.toMatchObject({ code: "not_a_directory" });
    await expect(store.remove("acme", "app")).rejects.toMatchObject({ code: "not_a_directory" });
    expect(await readdir(outside)).toEqual(["app", "keep"]);
  });

  it("below a tenant's place that others may write is refused", async () => {
    await mkdir(join(root, "acme"));
    await chmod(join(root, "acme"), 0o777);
    await expect(store.ensure("acme", "app", 0)).rejects.toMatchObject({ code: "not_permitted" });
  });

  it.each(["..", ".", "", "a/b", "../x", ".trash", "A", "a\0", "-x"])(
    "is never looked for under the name %j",
    async (name) => {
      expect(await store.get("acme", name)).toBeNull();
      expect(await store.get(name, "app")).toBeNull();
      expect(await store.remove(name, "app")).toBe(false);
      expect(await store.remove("acme", name)).toBe(false);
      await expect(store.ensure(name, "app", 0)).rejects.toMatchObject({ code: "not_a_directory" });
      await expect(store.locate("acme", name)).rejects.toMatchObject({ code: "not_a_directory" });
      expect(await readdir(base)).toEqual(["outside", "root"]);
      expect(await readdir(root)).toEqual([".trash"]);
    },
  );

  it("that is missing is null to get, false to remove and a fault to locate", async () => {
    expect(await store.get("acme", "app")).toBeNull();
    expect(await store.remove("acme", "app")).toBe(false);
    await expect(store.locate("acme", "app")).rejects.toMatchObject({ code: "not_a_directory" });
  });

  it("faults name no path of the host", async () => {
    await symlink(outside, join(root, "acme"));
    await expect(store.ensure("acme", "app", 0)).rejects.toMatchObject({
      message: expect.not.stringContaining(base),
    });
  });
});

describe("a directory in a workspace", () => {
  it("is one only where it is inside, links followed (FB-31)", async () => {
    await store.ensure("acme", "app", 0);
    await asRunner(
      `mkdir -p a/b && touch f && ln -s a in && ln -s ${outside} out && ln -s .. up && ln -s loop loop && ln -s f to-file`,
      join(root, "acme", "app"),
    );
    const answers = Object.fromEntries(
      await Promise.all(
        [
          ".",
          "a",
          "a/b",
          "in",
          "in/b",
          "f",
          "gone",
          "out",
          "up",
          "up/app",
          "loop",
          "to-file",
          "..",
          "../other",
          "a\0",
        ].map(async (path) => [path, await store.isDirectory("acme", "app", path)] as const),
      ),
    );
    expect(answers).toEqual({
      ".": true,
      a: true,
      "a/b": true,
      in: true,
      "in/b": true,
      f: false,
      gone: false,
      out: false,
      up: false,
      "up/app": true,
      loop: false,
      "to-file": false,
      "..": false,
      "../other": false,
      "a\0": false,
    });
  });
});

describe("the facts of a workspace", () => {
  it("say where its paths lead", async () => {
    await store.ensure("acme", "app", 0);
    await asRunner(`mkdir a && ln -s ${outside} out`, join(root, "acme", "app"));
    const facts = await store.facts("acme", "app", ["a", "out/keep", "gone"]);
    expect(["a", "out/keep", "gone", "other"].map((path) => facts.resolve(path))).toEqual([
      "inside",
      "outside",
      "missing",
      undefined,
    ]);
  });
});

describe("removal", () => {
  it("takes everything, whatever its modes, names and kinds, and follows no link", async () => {
    await store.ensure("acme", "app", 0);
    const path = join(root, "acme", "app");
    await writeFile(join(outside, "linked"), "kept");
    await chown(join(outside, "linked"), RUNNER.uid, RUNNER.gid);
    await asRunner(
      [
        "mkdir -p closed/deep/er .git 'new\nline'",
        "touch f closed/deep/f .hidden",
        "touch \"$(printf 'latin-\\351')\"",
        "mkdir \"$(printf 'dir-\\351')\"",
        "mkfifo pipe",
        `ln -s ${outside} out`,
        `ln -s ${outside}/keep file`,
        "ln -s / root",
        "ln -s gone broken",
        "chmod 0 closed/deep closed f",
        "chmod 555 .git",
      ].join(" && "),
      path,
    );
    await link(join(outside, "linked"), join(path, "hard"));
    expect(await store.remove("acme", "app")).toBe(true);
    expect(await store.get("acme", "app")).toBeNull();
    expect(await readdir(join(root, ".trash"))).toEqual([]);
    expect(await readdir(outside)).toEqual(["keep", "linked"]);
    expect(await readFile(join(outside, "linked"), "utf8")).toBe("kept");
  });

  it("takes a tree deeper than any path can name", async () => {
    await store.ensure("acme", "app", 0);
    await nodeAsRunner(
      "for (let i = 0; i < 500; i += 1) { fs.mkdirSync('abcdefghij'); process.chdir('abcdefghij'); } fs.writeFileSync('bottom', '');",
      join(root, "acme", "app"),
    );
    expect(await store.remove("acme", "app")).toBe(true);
    expect(await readdir(join(root, ".trash"))).toEqual([]);
  });

  it("takes a directory of many files", async () => {
    await store.ensure("acme", "app", 0);
    await nodeAsRunner(
      "for (let i = 0; i < 5000; i += 1) fs.writeFileSync('f' + i, '');",
      join(root, "acme", "app"),
    );
    expect(await store.remove("acme", "app")).toBe(true);
    expect(await readdir(join(root, ".trash"))).toEqual([]);
  });

  it("of a link that stands for a workspace takes the link alone (FB-31)", async () => {
    await mkdir(join(root, "acme"), { mode: 0o711 });
    await symlink(outside, join(root, "acme", "app"));
    expect(await store.remove("acme", "app")).toBe(true);
    expect(await readdir(outside)).toEqual(["keep"]);
    await expect(lstat(join(root, "acme", "app"))).rejects.toMatchObject({ code: "ENOENT" });
  });

  it("never leaves the workspace while its agent swaps directories for links (FB-31)", async () => {
    for (let round = 0; round < 5; round += 1) {
      await store.ensure("acme", "app", 0);
      const path = join(root, "acme", "app");
      // Holds the workspace as its directory, as a container's mount does, and goes on after it was moved away.
      const agent = nodeAsRunner(
        `
        const quiet = (act) => { try { act(); } catch {} };
        for (let i = 0; i < 8; i += 1) { fs.mkdirSync("d" + i + "/x", { recursive: true }); fs.writeFileSync("d" + i + "/keep", ""); }
        fs.writeFileSync(${JSON.stringify(join(outside, "started"))}, "");
        const end = Date.now() + 400;
        while (Date.now() < end) {
          for (let i = 0; i < 8; i += 1) {
            quiet(() => fs.renameSync("d" + i, "old" + i));
            quiet(() => fs.symlinkSync(${JSON.stringify(outside)}, "d" + i));
            quiet(() => fs.unlinkSync("d" + i));
            quiet(() => fs.renameSync("old" + i, "d" + i));
          }
        }`,
        path,
      );
      while ((await stat(join(outside, "started")).catch(() => null)) === null) await pause(1);
      // Either it is done, or it gave up on a directory that fills again; it never deletes what is not the workspace's.
      const [removal] = await Promise.allSettled([store.remove("acme", "app")]);
      if (removal?.status === "rejected") expect(removal.reason).toMatchObject({ code: "io" });
      await agent;
      await store.emptyTrash();
      await rm(join(outside, "started"));
      expect(await readdir(outside)).toEqual(["keep"]);
      expect(await readdir(join(root, ".trash"))).toEqual([]);
    }
  });

  it("that was cut off is finished at the next start", async () => {
    await store.ensure("acme", "app", 0);
    await asRunner("mkdir -p a/b && touch a/b/c", join(root, "acme", "app"));
    await rename(join(root, "acme", "app"), join(root, ".trash", "x"));
    await (await open()).emptyTrash();
    expect(await readdir(join(root, ".trash"))).toEqual([]);
  });

  it("by two at once gives one the yes and harms nobody", async () => {
    await store.ensure("acme", "app", 0);
    await asRunner("mkdir -p a/b c/d && touch a/b/c c/d/e", join(root, "acme", "app"));
    const answers = await Promise.all([
      store.remove("acme", "app"),
      store.remove("acme", "app"),
      store.emptyTrash(),
    ]);
    expect(answers.filter((answer) => answer === true)).toHaveLength(1);
  });
});

describe("the workspaces root", () => {
  const why = async (path: string, runner = RUNNER, self = { uid: 0, gid: 0 }) => {
    try {
      await checkWorkspacesRoot(path, runner, self);
      return null;
    } catch (error) {
      return (error as Error).message;
    }
  };

  it("that is a real directory of root's is taken", async () => {
    expect(await why(root)).toBeNull();
  });

  it("is refused where it is relative, missing, a file, a link, or reached through one", async () => {
    await symlink(root, join(base, "link"));
    await symlink(base, join(base, "around"));
    expect(await why("root")).toMatch(/absolute/);
    expect(await why(join(base, "gone"))).toMatch(/does not exist/);
    expect(await why(join(outside, "keep"))).toMatch(/not a directory/);
    expect(await why(join(base, "link"))).toMatch(/symbolic link/);
    expect(await why(join(base, "around", "root"))).toContain(`use ${root}`);
  });

  it("is refused where it, or a directory above it, can be swapped by the runner", async () => {
    await chmod(root, 0o777);
    expect(await why(root)).toMatch(/group or others/);
    await chmod(root, 0o1777);
    expect(await why(root)).toMatch(/group or others/);
    await chmod(root, 0o711);
    await chmod(base, 0o777);
    expect(await why(root)).toContain(`the runner can write ${base}`);
    await chmod(base, 0o1777);
    expect(await why(root)).toBeNull();
    await chown(base, RUNNER.uid, 0);
    expect(await why(root)).toContain(`the runner can write ${base}`);
    await chown(base, 0, RUNNER.gid);
    await chmod(base, 0o770);
    expect(await why(root)).toContain(`the runner can write ${base}`);
    await chown(base, 0, 0);
    await chown(root, RUNNER.uid, RUNNER.gid);
    expect(await why(root)).toMatch(/belongs to uid 10001/);
  });

  it("is refused for a runner that is root", async () => {
    expect(await why(root, { uid: 0, gid: 1 })).toMatch(/other than root/);
    expect(await why(root, { uid: 1, gid: 0 })).toMatch(/other than root/);
  });

  it("without root's rights is taken only for one's own user and group", async () => {
    await chown(root, 500, 500);
    expect(await why(root, { uid: 500, gid: 500 }, { uid: 500, gid: 500 })).toBeNull();
    expect(await why(root, RUNNER, { uid: 500, gid: 500 })).toMatch(/must be root, or/);
    expect(await why(root, { uid: 500, gid: 501 }, { uid: 500, gid: 500 })).toMatch(/must be root, or/);
  });
});
