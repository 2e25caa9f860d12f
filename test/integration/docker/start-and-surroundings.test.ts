import { chmod, chown, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import Docker from "dockerode";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { deriveImage, removeImage } from "../../support/derived-image.js";
import { benchRequest, createDockerBench, type DockerBench } from "../../support/docker-bench.js";
import { readTestEnvironment } from "../../support/environment.js";

let bench: DockerBench;
let meddlingImage: string;
beforeAll(async () => {
  bench = await createDockerBench();
  meddlingImage = await deriveImage([
    'ENTRYPOINT ["/bin/echo","EP"]',
    'CMD ["default"]',
    "ENV LD_PRELOAD=/workspace/evil.so SERVICE_TOKEN=secret PATH=/workspace:/usr/bin",
    "VOLUME /data",
    "HEALTHCHECK --interval=1s CMD touch /workspace/healthy",
    "USER 4321",
    "WORKDIR /nowhere",
  ]);
});
afterEach(async () => {
  expect(await bench.leftovers()).toEqual([]);
});
afterAll(async () => {
  await bench.close();
  await removeImage(meddlingImage);
});

const meddling = () => ({ image: meddlingImage, imageDigest: meddlingImage });

/** The head of an ELF executable for a processor that this engine's host is not. */
function foreignElf(): Buffer {
  const elf = Buffer.alloc(120);
  Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]).copy(elf);
  elf.writeUInt16LE(2, 16);
  elf.writeUInt16LE(process.arch === "arm64" ? 62 : 183, 18);
  elf.writeUInt32LE(1, 20);
  return elf;
}

describe("a start that fails", () => {
  it.each([
    ["no-such-cmd", "exec", "ENOENT"],
    ["/no/such/cmd", "exec", "ENOENT"],
    ["/etc/passwd", "exec", "EACCES"],
    ["/workspace", "exec", "EACCES"],
    ["/workspace/script-without-shebang", "exec", "ENOEXEC"],
    ["/workspace/foreign-binary", "exec", "ENOEXEC"],
    ["/workspace/script-without-shebang/x", "exec", "ENOTDIR"],
  ])("says which and has no effect: %s (FB-23)", async (argv0, stage, errno) => {
    const workspace = await bench.workspace();
    for (const [name, content] of [
      ["script-without-shebang", Buffer.from("echo no\n")],
      ["foreign-binary", foreignElf()],
    ] as const) {
      await writeFile(join(workspace.path, name), content);
      await chown(join(workspace.path, name), workspace.uid, workspace.gid);
      await chmod(join(workspace.path, name), 0o755);
    }
    const { ending } = await bench.run([argv0], { workspace });
    expect(ending).toMatchObject({
      outcome: "start_failed",
      effect: "none",
      returncode: null,
      startFailure: { stage, errno },
    });
  });

  it("because the directory is not there is told as such, and makes none (FB-23)", async () => {
    const workspace = await bench.workspace();
    const { ending } = await bench.run(["true"], { workspace, cwd: "a/b" });
    expect(ending).toMatchObject({
      outcome: "start_failed",
      startFailure: { stage: "chdir", errno: "ENOENT" },
    });
    await expect(stat(join(workspace.path, "a"))).rejects.toMatchObject({ code: "ENOENT" });
  });

  it("is not a program's own 126 or 127 (FB-23)", async () => {
    for (const code of [126, 127]) {
      const { ending } = await bench.run(["sh", "-c", `exit ${code}`]);
      expect(ending).toMatchObject({ outcome: "completed", returncode: code, startFailure: null });
    }
  });
});

describe("a container that can't be made", () => {
  const signal = () => new AbortController().signal;

  it("for want of its image says so, and nothing is pulled (FB-30)", async () => {
    const absent = `sha256:${"0".repeat(64)}`;
    const purpose = bench.purpose(
      await bench.workspace(),
      bench.profile({ image: absent, imageDigest: absent }),
    );
    await expect(bench.runtime.prepare(purpose, signal())).rejects.toMatchObject({
      name: "RuntimeFault",
      code: "image_missing",
    });
  });

  it("for want of its workspace says so, and no directory is made", async () => {
    const workspace = await bench.workspace();
    const missing = join(workspace.path, "missing");
    const purpose = { ...bench.purpose(workspace), workspacePath: missing };
    await expect(bench.runtime.prepare(purpose, signal())).rejects.toMatchObject({ code: "mount_refused" });
    await expect(stat(missing)).rejects.toMatchObject({ code: "ENOENT" });
  });

  it("for root is refused before the engine is asked", async () => {
    const workspace = await bench.workspace();
    await expect(
      bench.runtime.prepare({ ...bench.purpose(workspace), uid: 0 }, signal()),
    ).rejects.toMatchObject({
      code: "refused",
    });
  });
});

describe("an image's own wishes", () => {
  it("do not swallow the argv, nor choose the user (FB-27)", async () => {
    expect((await bench.run(["id", "-u"], { profile: meddling() })).stdout).toBe("10001\n");
  });

  it("do not reach the environment, neither init's nor the command's (FB-28)", async () => {
    const environment = { PATH: "/usr/bin:/bin", HOME: "/home/agent", LANG: "C.UTF-8" };
    const { stdout, stderr } = await bench.run(["env"], { profile: meddling(), environment });
    expect(stdout.trim().split("\n").sort()).toEqual([
      "HOME=/home/agent",
      "LANG=C.UTF-8",
      "PATH=/usr/bin:/bin",
    ]);
    expect(stderr).toBe("");
  });

  it("do not choose which program a name means (FB-28)", async () => {
    const workspace = await bench.workspace();
    await writeFile(join(workspace.path, "id"), "#!/bin/sh\necho planted\n");
    await chmod(join(workspace.path, "id"), 0o755);
    const { stdout } = await bench.run(["id", "-u"], { profile: meddling(), workspace });
    expect(stdout).toBe("10001\n");
  });

  it("run no health check and make no volume on the host's disk", async () => {
    const docker = new Docker({ socketPath: readTestEnvironment().dockerSocket });
    const workspace = await bench.workspace();
    const { stdout } = await bench.run(["sh", "-c", "sleep 2; ls; grep ' /data ' /proc/mounts"], {
      profile: meddling(),
      workspace,
      onReady: async (id) => {
        const { Mounts } = await docker.getContainer(id).inspect();
        expect(Mounts.map(({ Type }) => Type).sort()).toEqual(["bind", "bind", "tmpfs"]);
      },
    });
    expect(stdout).toMatch(/^tmpfs \/data tmpfs rw,nosuid,nodev/);
  });
});

describe("the workspace", () => {
  it("is the owner's alone and stays so: a 0700 directory of another uid (FB-39)", async () => {
    const workspace = await bench.workspace(1234);
    await writeFile(join(workspace.path, "host_file"), "from the host", { mode: 0o600 });
    await chown(join(workspace.path, "host_file"), 1234, 1234);
    const { stdout, ending } = await bench.run(["sh", "-c", "touch n && stat -c %u n && cat host_file"], {
      workspace,
    });
    expect(ending).toMatchObject({ outcome: "completed", returncode: 0 });
    expect(stdout).toBe("1234\nfrom the host");
    expect(await stat(join(workspace.path, "n"))).toMatchObject({ uid: 1234, gid: 1234 });
  });

  it("is where a command runs, in the directory that it was given", async () => {
    const workspace = await bench.workspace();
    expect((await bench.run(["pwd"], { workspace })).stdout).toBe("/workspace\n");
    await bench.run(["mkdir", "-p", "a/b c"], { workspace });
    expect((await bench.run(["pwd"], { workspace, cwd: "a/b c" })).stdout).toBe("/workspace/a/b c\n");
  });

  it("is not touched by waiting: a container with nothing sent to it stays silent and healthy", async () => {
    const container = await bench.runtime.prepare(
      bench.purpose(await bench.workspace()),
      new AbortController().signal,
    );
    try {
      // A byte of an HTTP body on stdin would make init report a bad request at once.
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      expect(container.isHealthy()).toBe(true);
      const end = await container.run(benchRequest(["true"]), new AbortController().signal);
      expect(end).toMatchObject({ kind: "report", report: { kind: "exited", exitCode: 0 } });
    } finally {
      await container.destroy();
    }
  });
});

describe("the engine's list", () => {
  it("shows a container with its labels, and no other deployment's", async () => {
    const other = await createDockerBench();
    const purpose = bench.purpose(await bench.workspace());
    const container = await bench.runtime.prepare(purpose, new AbortController().signal);
    try {
      expect(await other.runtime.list()).toEqual([]);
      expect(await bench.runtime.list()).toEqual([
        {
          containerId: container.containerId,
          state: "running",
          workerId: "wrk_test",
          commandId: "cmd_test",
          isProbe: false,
          createdAtMs: expect.any(Number),
          deadlineMs: purpose.deadlineMs,
        },
      ]);
      await bench.runtime.remove(container.containerId);
      await bench.runtime.remove(container.containerId);
      expect(await bench.runtime.list()).toEqual([]);
    } finally {
      await container.destroy();
      await other.close();
    }
  });
});
