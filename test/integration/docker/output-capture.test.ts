import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import Docker from "dockerode";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { atWidth, createDockerBench, type DockerBench } from "../../support/docker-bench.js";
import { readTestEnvironment } from "../../support/environment.js";

let bench: DockerBench;
beforeAll(async () => {
  bench = await createDockerBench();
});
afterEach(async () => {
  expect(await bench.leftovers()).toEqual([]);
});
afterAll(() => bench.close());

/** Bytes of every file below a directory that can be read. */
async function bytesBelow(directory: string): Promise<number> {
  const entries = await readdir(directory, { recursive: true });
  const sizes = await Promise.all(
    entries.map((entry) =>
      stat(join(directory, entry)).then(
        ({ size }) => size,
        () => 0,
      ),
    ),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

describe("output", () => {
  it("is exact for every one of 300 short commands, 16 at a time (FB-1)", { timeout: 900_000 }, async () => {
    const workspace = await bench.workspace();
    const ends = await atWidth(300, 16, async () => {
      const { ending, stdout, stderr } = await bench.run(
        ["/bin/sh", "-c", "printf A; printf B >&2; exit 7"],
        { workspace },
      );
      return `${ending.outcome} ${ending.returncode} ${stdout} ${stderr}`;
    });
    expect(new Set(ends)).toEqual(new Set(["completed 7 A B"]));
  });

  it("keeps a character whole that was written in two pieces (FB-2)", async () => {
    const split = "import os,time;os.write(1,b'cleanup \\xe2');time.sleep(.05);os.write(1,b'\\x80\\x94 end')";
    expect((await bench.run(["python3", "-c", split])).stdout).toBe("cleanup — end");
    const many = await bench.run(["python3", "-c", "print('\u2500'*100000)"]);
    expect(many.stdout).toBe(`${"─".repeat(100_000)}\n`);
  });

  it("keeps every byte as it was, invalid ones and NUL too (FB-4)", async () => {
    const { end } = await bench.run(["printf", "a\\377b\\000c"]);
    expect([...end.stdout.bytes]).toEqual([0x61, 0xff, 0x62, 0x00, 0x63]);
    const noise = await bench.run([
      "sh",
      "-c",
      "head -c 100000 /dev/urandom | tee noise; sha256sum noise >&2",
    ]);
    expect(noise.end.stdout.seenBytes).toBe(100_000);
    expect(noise.stderr).toContain(noise.end.stdout.sha256);
  });

  it("is told apart by stream through 100,000 alternating single bytes (FB-5)", async () => {
    const code = "import os\nfor i in range(100000):os.write(1+i%2,b'x')";
    const { end, stdout, stderr } = await bench.run(["python3", "-c", code]);
    expect(end.kind).toBe("report");
    expect([stdout, stderr]).toEqual(["x".repeat(50_000), "x".repeat(50_000)]);
  });

  it("is capped per stream, one stream's cap without effect on the other (FB-6)", async () => {
    const code = "import sys;sys.stderr.write('e'*1000000);sys.stdout.write('abc')";
    const { end, ending, stdout, stderr } = await bench.run(["python3", "-c", code], {
      stderrCaptureBytes: 16 << 10,
    });
    expect(ending).toMatchObject({ outcome: "completed", returncode: 0 });
    expect(stdout).toBe("abc");
    expect(end.stdout.seenBytes).toBe(3);
    expect(stderr).toBe("e".repeat(16 << 10));
    expect(end.stderr.seenBytes).toBe(1_000_000);
  });

  it("of a flood ends its command at the hard cap, eight at once, and the worker stays small (FB-7)", async () => {
    const before = process.memoryUsage().rss;
    const floods = [
      ["yes"],
      ["cat", "/dev/zero"],
      ["sh", "-c", "yes & yes >&2"],
      ["sh", "-c", "exec yes >&2"],
    ];
    const ends = await atWidth(8, 8, (index) =>
      bench.run(floods[index % floods.length] ?? [], {
        // Memory is the subject here, not the engine's speed.
        timeoutMs: 60_000,
      }),
    );
    for (const { ending, end } of ends) {
      expect(ending).toMatchObject({ outcome: "output_limit_exceeded", effect: "unknown", returncode: null });
      expect(end.stdout.bytes.length).toBeLessThanOrEqual(1 << 20);
      expect(end.stderr.bytes.length).toBeLessThanOrEqual(1 << 20);
    }
    expect(process.memoryUsage().rss - before).toBeLessThan(160 << 20);
  });

  it("leaves nothing in the engine's log files (FB-9)", async () => {
    const docker = new Docker({ socketPath: readTestEnvironment().dockerSocket });
    const { DockerRootDir }: { DockerRootDir: string } = await docker.info();
    const logs = join(DockerRootDir, "containers");
    const before = await bytesBelow(logs);
    let during = 0;
    const { ending } = await bench.run(["sh", "-c", "yes | head -c 200000000 >/dev/stdout"], {
      stdoutHardBytes: 2 ** 40,
      onReady: (id) => {
        expect(id).toMatch(/^[0-9a-f]{64}$/);
        const timer = setInterval(() => {
          void bytesBelow(logs).then((bytes) => {
            during = Math.max(during, bytes);
          });
        }, 50);
        timer.unref();
        setTimeout(() => clearInterval(timer), 60_000).unref();
      },
    });
    expect(ending).toMatchObject({ outcome: "completed", returncode: 0 });
    expect(during - before).toBeLessThan(4 << 20);
    expect((await bytesBelow(logs)) - before).toBeLessThan(4 << 20);
  });

  it("that came before a timeout is only what it is: partial, without a returncode (FB-10)", async () => {
    const { ending, stdout } = await bench.run(["sh", "-c", "echo partial; sleep 60"], { timeoutMs: 1_000 });
    expect(ending).toMatchObject({ outcome: "timed_out", effect: "unknown", returncode: null });
    expect(stdout).toBe("partial\n");
  });

  it("of a dropped attach stream is never a returncode (FB-10)", async () => {
    const docker = new Docker({ socketPath: readTestEnvironment().dockerSocket });
    const { ending, stdout } = await bench.run(["sh", "-c", "echo partial; sleep 60"], {
      onReady: (id) => void setTimeout(() => void docker.getContainer(id).kill({ signal: "SIGKILL" }), 1_500),
    });
    expect(ending).toMatchObject({ outcome: "lost", effect: "unknown", returncode: null });
    expect(stdout).toBe("partial\n");
  });
});

describe("input", () => {
  it("ends at once and is no terminal (FB-20)", async () => {
    expect((await bench.run(["cat"])).ending).toMatchObject({ outcome: "completed", returncode: 0 });
    expect((await bench.run(["python3"])).ending).toMatchObject({ outcome: "completed", returncode: 0 });
    expect((await bench.run(["grep", "x"])).ending).toMatchObject({ outcome: "completed", returncode: 1 });
    expect((await bench.run(["sh", "-c", "read a; echo $?"])).stdout).toBe("1\n");
    expect((await bench.run(["tty"])).stdout).toBe("not a tty\n");
  });
});

describe("argv", () => {
  it("reaches the program as it is, at its largest, whatever the bytes look like (FB-26)", async () => {
    const longest = "é".repeat(65_535);
    const tokens = ["", "|", "*", "$X", ";", "a b", "'\"\\", "\n", "é", longest];
    const code =
      "import sys,json;print(json.dumps([len(a.encode()) for a in sys.argv[1:]]));print(sys.argv[1:-1])";
    const { stdout } = await bench.run(["python3", "-c", code, ...tokens]);
    const [lengths, shown] = stdout.split("\n", 2);
    expect(JSON.parse(lengths ?? "")).toEqual(tokens.map((token) => Buffer.byteLength(token)));
    expect(shown).toBe(`['', '|', '*', '$X', ';', 'a b', '\\'"\\\\', '\\n', 'é']`);
    const many = Array.from({ length: 4094 }, (_, index) => String(index));
    expect((await bench.run(["printf", "%s\n", ...many])).stdout).toBe(`${many.join("\n")}\n`);
  });
});
