import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmod,
  chown,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  stat,
  utimes,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { measureWorkspace } from "../../../src/adapters/workspace-fs/measure-workspace.js";
import { resolveFacts } from "../../../src/adapters/workspace-fs/resolve-facts.js";
import {
  type ArchiveDirectory,
  createWorkspaceArchives,
} from "../../../src/adapters/workspace-fs/workspace-archives.js";
import { createWorkspaceDirectory } from "../../../src/adapters/workspace-fs/workspace-directory.js";
import { type ArchiveLimits, ArchiveRefused } from "../../../src/domain/archive/archive-terms.js";
import type { WorkspaceUse } from "../../../src/domain/workspace-growth.js";
import { paxEntry, piecesOf, type RawEntry, rawEntry, rawTar } from "../../support/tar-bytes.js";

const exec = promisify(execFile);
const RUNNER = { uid: 10_001, gid: 10_001 };
const LIMITS: ArchiveLimits = {
  maxBytes: 4 << 20,
  maxFileBytes: 1 << 20,
  maxEntries: 500,
  maxPathBytes: 300,
  maxDepth: 8,
};

const PLENTY: WorkspaceUse = { bytes: 1 << 30, inodes: 1_000_000 };

let base: string;
let root: string;
let outside: string;
let workspace: string;
let archives: ArchiveDirectory;
let bounded: (limits: WorkspaceUse) => ArchiveDirectory;

beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), "bailiff-tar-"));
  await chmod(base, 0o711);
  root = join(base, "root");
  outside = join(base, "outside");
  await mkdir(root, { mode: 0o711 });
  await mkdir(outside);
  await chmod(outside, 0o777);
  await writeFile(join(outside, "keep"), "kept");
  const workspaces = await createWorkspaceDirectory({
    root,
    runnerUid: RUNNER.uid,
    runnerGid: RUNNER.gid,
    resolveFacts,
  });
  bounded = (limits) => createWorkspaceArchives({ root, workspaces, limits });
  archives = bounded(PLENTY);
  await workspaces.ensure("acme", "app", 0);
  await workspaces.ensure("acme", "other", 0);
  workspace = join(root, "acme", "app");
});
afterEach(() => rm(base, { recursive: true }));

const receive = (bytes: Buffer, limits: Partial<ArchiveLimits> = {}, pieceBytes = 65_536) =>
  archives.receive("acme", "app", piecesOf(bytes, pieceBytes), { ...LIMITS, ...limits });

/** The workspace as one tar stream. */
async function sent(id = "app", maxDepth = LIMITS.maxDepth): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of await archives.send("acme", id, maxDepth)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

const asRunner = (text: string, cwd = workspace) =>
  exec("sh", ["-c", text], { uid: RUNNER.uid, gid: RUNNER.gid, cwd, env: { PATH: process.env["PATH"] } });

/** Every path below a directory with kind, mode, owner, size and link target; names as bytes in latin1. */
async function listing(directory: string | Buffer, above = ""): Promise<string[]> {
  const lines: string[] = [];
  for (const bytes of await readdir(directory, { encoding: "buffer" })) {
    const path = Buffer.concat([Buffer.from(directory), Buffer.from("/"), bytes]);
    const name = `${above}${bytes.toString("latin1")}`;
    const found = await lstat(path);
    const mode = `0${(found.mode & 0o7777).toString(8)} ${found.uid}:${found.gid}`;
    if (found.isDirectory()) lines.push(`${name} d ${mode}`, ...(await listing(path, `${name}/`)));
    else if (found.isSymbolicLink()) lines.push(`${name} l ${await readlink(path, "latin1")}`);
    else lines.push(`${name} ${found.isFile() ? "f" : "?"} ${mode} ${found.size}`);
  }
  return lines.sort();
}

/** The error of an archive that is refused; nothing of it is left anywhere. */
async function refusalOf(bytes: Buffer, limits: Partial<ArchiveLimits> = {}): Promise<ArchiveRefused> {
  const before = await listing(workspace);
  const error = await receive(bytes, limits).then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ArchiveRefused);
  expect(await listing(workspace)).toEqual(before);
  await expectNothingElse();
  return error as ArchiveRefused;
}

async function expectNothingElse(): Promise<void> {
  expect(await listing(outside)).toEqual(["keep f 0644 0:0 4"]);
  expect(await readFile(join(outside, "keep"), "utf8")).toBe("kept");
  expect(await listing(join(root, "acme", "other"))).toEqual([]);
  expect((await readdir(root)).filter((name) => !name.startsWith("."))).toEqual(["acme"]);
  expect(await readdir(join(root, ".incoming")).catch(() => [])).toEqual([]);
  expect(await readdir(join(root, ".trash"))).toEqual([]);
}

describe("a round trip", () => {
  const makeTree = (extra = "") =>
    asRunner(
      [
        "mkdir -p src/deep/er empty closed .git",
        "printf hello > src/a && chmod 755 src/a",
        "printf x > 'new\nline' && printf y > '-rf'",
        "head -c 70000 /dev/urandom > big && : > nothing",
        "ln -s ../a src/deep/link && ln -s nowhere broken && ln src/a src/hard",
        "touch -d @1000000000 src/a big && chmod 700 closed && chmod 400 nothing",
        extra,
      ].join("\n"),
    );
  const LONG = `name=$(printf 'n%.0s' $(seq 120)); mkdir -p "$name/$name" && printf z > "$name/$name/$(printf 'dir-\\351')" && ln -s "$name/$name/$name" long-link`;

  it.each(["gnu", "pax", "ustar", "v7"])(
    "takes what tar writes in the format %s, exactly",
    async (format) => {
      await makeTree(format === "gnu" || format === "pax" ? LONG : "");
      const made = await listing(workspace);
      await exec("tar", ["-cf", join(base, "a.tar"), `--format=${format}`, "-C", workspace, "."]);
      await rm(join(workspace), { recursive: true });
      await mkdir(workspace, { mode: 0o700 });
      await exec("chown", ["10001:10001", workspace]);
      await receive(await readFile(join(base, "a.tar")), {}, 1000);
      expect(await listing(workspace)).toEqual(made);
      const [a, hard] = await Promise.all(["a", "hard"].map((name) => stat(join(workspace, "src", name))));
      expect([a?.ino, a?.mtimeMs]).toEqual([hard?.ino, 1_000_000_000_000]);
      await expectNothingElse();
    },
  );

  it("gives tar what it can read, with everything in it", async () => {
    await makeTree(LONG);
    await writeFile(join(base, "b.tar"), await sent());
    await mkdir(join(base, "out"));
    const { stderr } = await exec("tar", ["-xpf", join(base, "b.tar"), "-C", join(base, "out")]);
    expect(stderr).toBe("");
    expect(await listing(join(base, "out"))).toEqual(await listing(workspace));
    const { stdout } = await exec("python3", [
      "-c",
      "import sys, tarfile; print(len(tarfile.open(sys.argv[1], errors='surrogateescape').getmembers()))",
      join(base, "b.tar"),
    ]);
    expect(Number(stdout)).toBe((await listing(workspace)).length);
  });

  it("takes back what it gave, and taking it twice changes nothing", async () => {
    await makeTree(LONG);
    const made = await listing(workspace);
    const archive = await sent();
    const receipt = await receive(archive);
    expect(receipt.entries).toBe(made.length);
    expect(await receive(archive)).toEqual(receipt);
    expect(await listing(workspace)).toEqual(made);
  });

  it("knows a file whose name is cut off behind a slash in the old field from a directory", async () => {
    const directory = `${"d".repeat(49)}/${"e".repeat(49)}`;
    await asRunner(`mkdir -p ${directory} && printf full > ${directory}/full && : > ${directory}/empty`);
    const made = await listing(workspace);
    const archives = [await sent()];
    for (const format of ["gnu", "pax"]) {
      const file = join(base, `${format}.tar`);
      await exec("tar", [`--format=${format}`, "-cf", file, "-C", workspace, "."]);
      archives.push(await readFile(file));
    }
    for (const archive of archives) {
      await asRunner("rm -r ./*");
      await receive(archive, { maxPathBytes: 400 });
      expect(await listing(workspace)).toEqual(made);
    }
  });

  it("leaves what the archive does not name, and a directory's mode", async () => {
    await asRunner("mkdir -m 700 d && printf old > d/f && printf mine > d/g && ln -s f d/h");
    await receive(
      rawTar(
        { name: "d/", type: "5", mode: 0o777 },
        { name: "d/f", body: "new" },
        { name: "d/h", body: "h" },
      ),
    );
    expect(await listing(workspace)).toEqual([
      "d d 0700 10001:10001",
      "d/f f 0644 10001:10001 3",
      "d/g f 0644 10001:10001 4",
      "d/h f 0644 10001:10001 1",
    ]);
  });

  it("drops setuid, setgid and sticky bits, coming and going", async () => {
    await receive(rawTar({ name: "s", mode: 0o6755 }, { name: "d", type: "5", mode: 0o7555 }));
    expect(await listing(workspace)).toEqual(["d d 0755 10001:10001", "s f 0755 10001:10001 0"]);
    await asRunner("chmod 6755 s");
    expect((await sent()).toString("latin1")).not.toContain("0006755");
  });
});

describe("an archive is refused, by entry and reason, and changes nothing,", () => {
  const ok: RawEntry = { name: "fine", body: "fine" };
  it.each<[string, readonly RawEntry[], RegExp]>([
    ["for an absolute path", [{ name: "/etc/x" }], /^entry "\/etc\/x": its path is absolute$/],
    ["for a path that goes up", [{ name: "a/../../x" }], /goes up/],
    ["for `..` alone", [{ name: "..", type: "5" }], /goes up/],
    ["for an empty path", [{ name: "" }], /its path is empty/],
    ["for a file in the workspace's place", [{ name: "./." }], /workspace's place/],
    ["for a path with a NUL", [paxEntry({ path: "a\0b" }), ok], /NUL/],
    ["for an absolute path of an extended header", [paxEntry({ path: "/x" }), ok], /absolute/],
    ["for a long GNU name that goes up", [{ name: "L", type: "L", body: "../x\0" }, ok], /goes up/],
    ["for a name that is too long", [paxEntry({ path: "n".repeat(256) }), ok], /longer than 255 bytes/],
    ["for a link to an absolute path", [{ name: "l", type: "2", linkName: "/etc/passwd" }], /outside/],
    ["for a link that leaves", [{ name: "a/l", type: "2", linkName: "../../x" }], /outside/],
    [
      "for a link whose way back is another's",
      [{ name: "l", type: "2", linkName: "a/../../x" }],
      /behind a name/,
    ],
    [
      "for a link that leaves from the container's root",
      [{ name: "l", type: "2", linkName: "/workspace/.." }],
      /target/,
    ],
    ["for a link without a target", [{ name: "l", type: "2" }], /no path/],
    [
      "for a path through a link of the archive",
      [{ name: "l", type: "2", linkName: "." }, { name: "l/x" }],
      /goes through/,
    ],
    ["for a path through a file of the archive", [{ name: "f" }, { name: "f/x" }], /goes through/],
    ["for a file in a directory's place", [{ name: "d/x" }, { name: "d" }], /directory/],
    ["for a hard link to nothing", [{ name: "h", type: "1", linkName: "none" }], /no earlier file/],
    [
      "for a hard link that leaves",
      [ok, { name: "h", type: "1", linkName: "../../../outside/keep" }],
      /goes up/,
    ],
    ["for a hard link to an absolute path", [{ name: "h", type: "1", linkName: "/etc/passwd" }], /absolute/],
    [
      "for a hard link to a link",
      [
        { name: "l", type: "2", linkName: "x" },
        { name: "h", type: "1", linkName: "l" },
      ],
      /no earlier file/,
    ],
    [
      "for a hard link through a link",
      [{ name: "l", type: "2", linkName: "." }, ok, { name: "h", type: "1", linkName: "l/fine" }],
      /no earlier file/,
    ],
    ["for a hard link to itself", [ok, { name: "fine", type: "1", linkName: "./fine" }], /to itself/],
    ["for a character device", [{ name: "c", type: "3" }], /device/],
    ["for a block device", [{ name: "b", type: "4" }], /device/],
    ["for a FIFO", [{ name: "p", type: "6" }], /FIFO/],
    ["for a sparse file", [{ name: "s", type: "S" }], /--sparse/],
    [
      "for a sparse file of an extended header",
      [paxEntry({ "GNU.sparse.major": "1", path: "s" }), ok],
      /--sparse/,
    ],
    ["for an unknown kind", [{ name: "v", type: "V" }], /kind that is not taken/],
    ["for a kind named like an object's member", [{ name: "v", type: "c" }], /kind that is not taken/],
    ["for a directory with a content", [{ name: "d", type: "5", body: "x" }], /content/],
    ["for a size that is none", [paxEntry({ size: "-1" }), ok], /size/],
    ["for a number that is none", [paxEntry({ size: "1e3" }), ok], /number/],
    ["for globals that rename", [paxEntry({ path: "x" }, "g"), ok], /global/],
    ["for records that do not add up", [{ name: "x", type: "x", body: "999 path=x\n" }, ok], /damaged/],
    ["for an extended header of no entry", [ok, paxEntry({ path: "x" })], /no entry/],
    [
      "for an extended header without end",
      [{ name: "x", type: "x", size: 70_000, body: Buffer.alloc(70_000) }, ok],
      /65536/,
    ],
  ])("%s", async (_name, entries, message) => {
    await asRunner("printf mine > fine");
    for (const tar of [rawTar(...entries), rawTar(ok, ...entries)]) {
      const refusal = await refusalOf(tar);
      expect(refusal.kind).toBe("invalid");
      expect(refusal.message).toMatch(message);
    }
  });

  it.each<[string, Partial<ArchiveLimits>, readonly RawEntry[], "invalid" | "too_large", RegExp]>([
    [
      "max_bytes",
      { maxBytes: 2048 },
      [{ name: "a", body: "x".repeat(600) }],
      "too_large",
      /archives\.max_bytes \(2048 bytes\)/,
    ],
    [
      "max_file_bytes",
      { maxFileBytes: 5 },
      [{ name: "a", body: "123456" }],
      "too_large",
      /^entry "a": .*archives\.max_file_bytes \(5 bytes\)/,
    ],
    [
      "max_file_bytes, by what a header says",
      {},
      [{ name: "bomb", size: 8 ** 11 - 1 }],
      "too_large",
      /max_file_bytes/,
    ],
    [
      "max_file_bytes, by what an extended header says",
      {},
      [paxEntry({ size: "999999999999999" }), { name: "bomb" }],
      "too_large",
      /max_file_bytes/,
    ],
    [
      "max_entries",
      { maxEntries: 2 },
      [{ name: "a" }, { name: "b" }, { name: "c" }],
      "too_large",
      /^entry "c": .*archives\.max_entries \(2\)/,
    ],
    [
      "max_entries, by directories that are only named",
      { maxEntries: 5 },
      [{ name: "a/b/c/d/e/f" }],
      "too_large",
      /max_entries/,
    ],
    [
      "max_entries, by the same file again",
      { maxEntries: 2 },
      [{ name: "a" }, { name: "a" }, { name: "a" }],
      "too_large",
      /max_entries/,
    ],
    [
      "max_path_bytes",
      { maxPathBytes: 5 },
      [{ name: "a/b/c/d" }],
      "invalid",
      /archives\.max_path_bytes \(5 bytes\)/,
    ],
    ["max_depth", { maxDepth: 2 }, [{ name: "a/b/c" }], "invalid", /archives\.max_depth \(2 names\)/],
  ])("for passing %s", async (_name, limits, entries, kind, message) => {
    const refusal = await refusalOf(rawTar(...entries), limits);
    expect(refusal.kind).toBe(kind);
    expect(refusal.message).toMatch(message);
  });

  it("that is cut off anywhere, has no end, or something behind it", async () => {
    const whole = rawTar(paxEntry({ path: "a/b" }), { name: "x", body: "x".repeat(700) }, { name: "c" });
    for (let at = 0; at < whole.length; at += 512 - 64) {
      const refusal = await refusalOf(whole.subarray(0, at));
      expect(refusal.message, String(at)).toBe("the archive is cut off");
    }
    expect((await refusalOf(Buffer.concat([whole, Buffer.alloc(9000), Buffer.from("x")]))).message).toContain(
      "behind",
    );
    expect(
      (await refusalOf(Buffer.concat([rawEntry({ name: "a" }), Buffer.alloc(512), whole]))).message,
    ).toContain("empty block");
    expect((await refusalOf(Buffer.from("PK\x03\x04".padEnd(2048, "z")))).message).toContain(
      "not a tar archive",
    );
    await receive(Buffer.concat([whole, Buffer.alloc(9000)]));
  });

  it("with what could mislead in a name escaped", async () => {
    const refusal = await refusalOf(rawTar({ name: "/a\n\x1b[31m\xe2\x80\xae" }));
    expect(refusal.entry).toBe("/a\\n\\u001b[31m\\u202e");
  });

  it("whose sender goes away", async () => {
    async function* leaving(): AsyncGenerator<Uint8Array> {
      yield rawEntry({ name: "a/b", body: "x" });
      throw new Error("gone");
    }
    await expect(archives.receive("acme", "app", leaving(), LIMITS)).rejects.toThrow("gone");
    expect(await listing(workspace)).toEqual([]);
    await expectNothingElse();
  });

  it("whose workspace was deleted while it came in, also where another has its name by then", async () => {
    const deleted = join(base, "deleted");
    const during = (work: () => Promise<unknown>) =>
      archives.receive(
        "acme",
        "app",
        (async function* () {
          yield rawEntry({ name: "a/b", body: "x" });
          await work();
          yield Buffer.alloc(1024);
        })(),
        LIMITS,
      );
    const fault = { name: "WorkspaceFault", message: "the workspace does not exist" };
    await expect(during(() => rename(workspace, deleted))).rejects.toMatchObject(fault);
    await mkdir(workspace);
    await chown(workspace, RUNNER.uid, RUNNER.gid);
    const replace = async () => {
      await rm(deleted, { recursive: true });
      await rename(workspace, deleted);
      await mkdir(workspace);
    };
    await expect(during(replace)).rejects.toMatchObject(fault);
    expect(await listing(workspace)).toEqual([]);
    expect(await listing(deleted)).toEqual([]);
    await expectNothingElse();
  });

  it("that does not fit the workspace, found before anything is moved", async () => {
    await asRunner(`mkdir -p d/e && printf f > f && ln -s ${outside} l && ln -s d in`);
    for (const [entries, entry] of [
      [[{ name: "new" }, { name: "d/e", body: "x" }], "d/e"],
      [[{ name: "new" }, { name: "f/x", body: "x" }], "f"],
      [[{ name: "new" }, { name: "l/keep", body: "x" }], "l"],
      [[{ name: "new" }, { name: "in/x", body: "x" }], "in"],
      [[{ name: "new" }, { name: "l", type: "5" }], "l"],
    ] as const) {
      const refusal = await refusalOf(rawTar(...entries));
      expect([refusal.kind, refusal.entry]).toEqual(["conflict", entry]);
    }
  });
});

/** Whether a path leads out of the workspace, followed as a container follows it. Links that lead in a circle lead nowhere. */
async function leaves(path: string): Promise<boolean> {
  const ahead = path.split("/");
  let real: string[] = [];
  for (let links = 0; ahead.length > 0 && links < 50; ) {
    const name = ahead.shift();
    if (name === undefined || name === "" || name === ".") continue;
    if (name === "..") {
      if (real.pop() === undefined) return true;
      continue;
    }
    const place = Buffer.from([workspace, ...real, name].join("/"), "latin1");
    const target = await readlink(place, "latin1").catch(() => null);
    if (target === null) {
      real.push(name);
      continue;
    }
    links += 1;
    const [first, second, ...rest] = target.split("/");
    if (first !== "") ahead.unshift(...target.split("/"));
    else if (second !== "workspace") return true;
    else {
      real = [];
      ahead.unshift(...rest);
    }
  }
  return false;
}

describe("any archive", () => {
  const names = fc.constantFrom(
    "a",
    "b",
    "a/b",
    "a/b/c",
    "./a",
    "a/",
    "..",
    "../x",
    "a/..",
    "/a",
    "",
    ".",
    "a/../../outside/keep",
    "l",
    "l/keep",
    "l/l",
    "../../outside/keep",
    "../other/x",
    "\xff",
    "a\nb",
    "n".repeat(99),
  );
  const targets = fc.constantFrom(
    "",
    ".",
    "..",
    "../..",
    "a",
    "l",
    "l/..",
    "/",
    "/workspace",
    "/workspace/a",
    "../../../outside",
    "a/../../..",
    "../a",
    "keep",
  );
  const entry: fc.Arbitrary<readonly RawEntry[]> = fc
    .record({
      name: names,
      linkName: targets,
      type: fc.constantFrom("0", "0", "0", "1", "2", "2", "5", "3", "6", "7", "S", "\0"),
      mode: fc.constantFrom(0, 0o644, 0o755, 0o7777, 0o4755),
      body: fc.constantFrom("", "x", "y".repeat(600)),
      pax: fc.option(fc.record({ path: names, linkpath: targets }), { freq: 5, nil: null }),
    })
    .map(({ pax, body, ...rest }) => [
      ...(pax === null ? [] : [paxEntry(pax)]),
      { ...rest, body: rest.type === "0" || rest.type === "7" ? body : "" },
    ]);

  it("changes nothing outside of its workspace, and leaves nothing there that could", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(entry, { minLength: 1, maxLength: 6 }),
        fc.integer({ min: 1, max: 3000 }),
        async (entries, pieceBytes) => {
          await receive(rawTar(...entries.flat()), {}, pieceBytes).catch((error: unknown) => {
            if (!(error instanceof ArchiveRefused)) throw error;
          });
          await expectNothingElse();
          for (const line of await listing(workspace))
            expect(line).toMatch(/ l | [fd] 0[0-7]{0,3} 10001:10001/);
          // What came in leads nowhere else, followed as a container follows it.
          const links = (await listing(workspace)).filter((line) => line.includes(" l "));
          const paths = links.map((line) => line.split(" l ")[0] ?? "");
          for (const link of paths) expect([link, await leaves(link)]).toEqual([link, false]);
        },
      ),
      { numRuns: 120 },
    );
  });

  it("that is only noise is refused", async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 3000 }), async (bytes) => {
        await expect(receive(Buffer.from(bytes))).rejects.toBeInstanceOf(ArchiveRefused);
      }),
      { numRuns: 30 },
    );
    await expectNothingElse();
  });
});

describe("while a command swaps directories for links", () => {
  it("nothing outside is ever written or read (FB-31)", async () => {
    const flag = join(workspace, "started");
    const agent = spawn(
      process.execPath,
      [
        "-e",
        `
        const quiet = (act) => { try { act(); } catch {} };
        for (let i = 0; i < 8; i += 1) { quiet(() => fs.mkdirSync("d" + i)); quiet(() => fs.writeFileSync("d" + i + "/keep", "own")); }
        fs.writeFileSync("started", "");
        for (;;) {
          for (let i = 0; i < 8; i += 1) {
            quiet(() => fs.renameSync("d" + i, "old" + i));
            quiet(() => fs.symlinkSync(${JSON.stringify(outside)}, "d" + i));
            quiet(() => fs.unlinkSync("d" + i));
            quiet(() => fs.renameSync("old" + i, "d" + i));
          }
        }`,
      ],
      { cwd: workspace, uid: RUNNER.uid, gid: RUNNER.gid, env: {}, stdio: "ignore" },
    );
    try {
      while ((await stat(flag).catch(() => null)) === null) await pause(5);
      const tar = rawTar(
        ...Array.from({ length: 8 }, (_, i) => [
          { name: `d${i}/keep`, body: "evil" },
          { name: `d${i}/new/x` },
        ]).flat(),
      );
      let done = 0;
      for (let round = 0; round < 60; round += 1) {
        const [received, read] = await Promise.allSettled([receive(tar), sent()]);
        if (received.status === "fulfilled") done += 1;
        else expect(received.reason).toMatchObject({ kind: "conflict" });
        if (read.status === "fulfilled") expect(read.value.includes("kept")).toBe(false);
        expect(await readdir(outside)).toEqual(["keep"]);
        expect(await readFile(join(outside, "keep"), "utf8")).toBe("kept");
      }
      expect(done).toBeGreaterThan(0);
    } finally {
      const ended = once(agent, "exit");
      agent.kill("SIGKILL");
      await ended;
    }
  });
});

describe("a workspace that is sent", () => {
  it("names what can't be in an archive, follows no link and holds no file open for it", async () => {
    await asRunner(
      `mkdir -p a/b/c/d && : > a/b/c/d/deep && mkfifo pipe && ln -s ${outside} out && python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("sock")'`,
    );
    const text = (await sent("app", 3)).toString("latin1");
    expect(text).toContain('comment=bailiff: not in this archive: "pipe": fifo');
    expect(text).toContain('comment=bailiff: not in this archive: "sock": socket');
    expect(text).toContain('comment=bailiff: not in this archive: "a/b/c": too deep');
    expect(text).not.toContain("kept");
    await rm(join(workspace, "out"));
    // Comments are passed over by whoever unpacks it.
    expect((await receive(await sent())).entries).toBe(5);
  });

  it("is read only as fast as it is asked for, and closed when nobody asks any more", async () => {
    await asRunner("head -c 3000000 /dev/zero > big && mkdir -p a/b && : > a/b/c");
    const open = async () => (await readdir("/proc/self/fd")).length;
    const before = await open();
    const chunks = (await archives.send("acme", "app", 8))[Symbol.asyncIterator]();
    const first = await chunks.next();
    expect((first.value as Buffer).length).toBeLessThan(300_000);
    await chunks.return?.();
    expect(await open()).toBe(before);
  });

  it("ends with an error where a file shrinks, so that nobody takes it for whole", async () => {
    await asRunner("head -c 3000000 /dev/zero > big");
    const chunks = (await archives.send("acme", "app", 8))[Symbol.asyncIterator]();
    await chunks.next();
    await asRunner(": > big");
    await expect(
      pipeline(Readable.from({ [Symbol.asyncIterator]: () => chunks }), async (source) => {
        for await (const _ of source);
      }),
    ).rejects.toThrow("shrank");
  });
});

describe("a workspace's own limits", () => {
  const files = (...names: string[]) =>
    rawTar(...names.map((name) => ({ name, body: Buffer.alloc(65_536, "x") })));
  const put = (limits: WorkspaceUse, bytes: Buffer) =>
    bounded(limits).receive("acme", "app", piecesOf(bytes, 65_536), LIMITS);

  it("hold for what archives bring in: at the limit it is taken, above it nothing is put in place", async () => {
    await archives.receive("acme", "other", piecesOf(files("d/a", "d/b", "c"), 65_536), LIMITS);
    const full = await measureWorkspace(join(root, "acme", "other"), PLENTY);
    await receive(files("d/a"));
    for (const [limits, message] of [
      [{ ...full, bytes: full.bytes - 1 }, `limits.workspace_bytes (${full.bytes - 1} bytes)`],
      [
        { ...full, inodes: full.inodes - 1 },
        `limits.workspace_inodes (${full.inodes - 1} files, links and directories)`,
      ],
    ] as const) {
      await expect(put(limits, files("d/a", "d/b", "c"))).rejects.toMatchObject({
        kind: "too_large",
        message: `with it the workspace would pass ${message}`,
      });
      expect(await readdir(workspace, { recursive: true })).toEqual(["d", "d/a"]);
      expect(await readdir(join(root, ".incoming"))).toEqual([]);
    }
    // What is there already is replaced and counts once, also when all of it is sent again.
    await put(full, files("d/a", "d/b", "c"));
    await put(full, files("d/a", "d/b", "c"));
    expect(await measureWorkspace(workspace, PLENTY)).toEqual(full);
  });

  it("let an archive in that makes a workspace smaller which is over them", async () => {
    await receive(files("a", "b"));
    await put({ bytes: 8_192, inodes: 1 }, rawTar({ name: "a", body: "small" }));
    expect(await readFile(join(workspace, "a"), "utf8")).toBe("small");
  });
});

describe("what a process that died left half unpacked", () => {
  it("is deleted once it is older than any transfer, and no earlier", async () => {
    await receive(rawTar({ name: "x" }));
    const incoming = join(root, ".incoming");
    for (const name of ["old", "new"]) await mkdir(join(incoming, name, "d"), { recursive: true });
    await utimes(join(incoming, "old"), 1000, 1000);
    await archives.removeLeftovers(2_000_000);
    expect(await readdir(incoming)).toEqual(["new"]);
    expect(((await lstat(incoming)).mode & 0o777).toString(8)).toBe("700");
  });
});
