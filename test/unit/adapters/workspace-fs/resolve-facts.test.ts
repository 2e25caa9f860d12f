import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { resolveFacts } from "../../../../src/adapters/workspace-fs/resolve-facts.js";
import { createScratchDirectory } from "../../../support/scratch-directory.js";

let scratch: Awaited<ReturnType<typeof createScratchDirectory>>;
let root: string;
beforeEach(async () => {
  scratch = await createScratchDirectory();
  root = join(scratch.path, "some-name");
  await mkdir(join(root, "dir/sub"), { recursive: true });
  await writeFile(join(root, "file"), "");
  await writeFile(join(scratch.path, "secret"), "");
});
afterEach(() => scratch.remove());

const factOf = async (path: string) => (await resolveFacts(root, [path])).resolve(path);

describe("a path of the workspace", () => {
  it("is inside, or missing", async () => {
    expect(await factOf("file")).toBe("inside");
    expect(await factOf("dir/sub")).toBe("inside");
    expect(await factOf(".")).toBe("inside");
    expect(await factOf("dir/../file")).toBe("inside");
    expect(await factOf("none")).toBe("missing");
    expect(await factOf("file/x")).toBe("missing");
    expect(await factOf("none/../../secret")).toBe("missing");
    expect(await factOf("x".repeat(300))).toBe("missing");
  });

  it("is outside when it climbs out, and back in by the name the container knows", async () => {
    expect(await factOf("../secret")).toBe("outside");
    expect(await factOf("..")).toBe("outside");
    expect(await factOf("../workspace/file")).toBe("inside");
    expect(await factOf("../some-name/file")).toBe("outside");
  });

  it("was not looked up when nobody asked", async () => {
    expect((await resolveFacts(root, ["file"])).resolve("dir")).toBeUndefined();
  });
});

describe("a symbolic link", () => {
  const link = (target: string, at = "link") => symlink(target, join(root, at));

  it.each([
    ["file", "inside"],
    ["dir/sub", "inside"],
    ["./dir/../file", "inside"],
    ["nowhere", "missing"],
    ["../secret", "outside"],
    ["dir/../../secret", "outside"],
    ["/etc/passwd", "outside"],
    ["/", "outside"],
    ["/workspace/file", "inside"],
    ["/workspace", "inside"],
    ["/workspace/../etc/passwd", "outside"],
    ["/proc/self/root/workspace/file", "outside"],
    ["link", "outside"],
  ])("to %s is %s", async (target, fact) => {
    await link(target);
    expect(await factOf("link")).toBe(fact);
  });

  it("to an absolute path of the host's side is outside: the container sees another root", async () => {
    await link(join(root, "file"));
    expect(await factOf("link")).toBe("outside");
  });

  it("is followed before `..`, as the kernel does", async () => {
    await link("/etc/ssl", "link");
    expect(await factOf("link/../file")).toBe("outside");
    await link("dir/sub", "deep");
    expect(await factOf("deep/../../file")).toBe("inside");
    expect(await factOf("deep/../../../file")).toBe("outside");
  });

  it("in the middle of a path or of a chain is followed too", async () => {
    await link("..", "up");
    await link("up/secret", "chain");
    expect(await factOf("up/secret")).toBe("outside");
    expect(await factOf("chain")).toBe("outside");
    expect(await factOf("dir/../up/x")).toBe("outside");
  });

  it("in a loop, or in a chain longer than the kernel follows, is outside", async () => {
    await link("b", "a");
    await link("a", "b");
    expect(await factOf("a/x")).toBe("outside");
    await link("file", "l0");
    for (let index = 1; index <= 41; index++) await link(`l${index - 1}`, `l${index}`);
    expect(await factOf("l39")).toBe("inside");
    expect(await factOf("l40")).toBe("outside");
  });
});

it("answers unknown for what can't be looked up, without an error", async () => {
  expect(await factOf("a\0b")).toBe("unknown");
});
