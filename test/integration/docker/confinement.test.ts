import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { createDockerBench, type DockerBench } from "../../support/docker-bench.js";

let bench: DockerBench;
beforeAll(async () => {
  bench = await createDockerBench();
});
afterEach(async () => {
  expect(await bench.leftovers()).toEqual([]);
});
afterAll(() => bench.close());

describe("a command's privileges", () => {
  it("are none (FB-58)", async () => {
    const { stdout } = await bench.run(["cat", "/proc/self/status"]);
    const status = Object.fromEntries(
      stdout.split("\n").map((line) => line.split(/:\s*/, 2) as [string, string]),
    );
    const none = "0000000000000000";
    expect(status).toMatchObject({
      CapInh: none,
      CapPrm: none,
      CapEff: none,
      CapBnd: none,
      CapAmb: none,
      NoNewPrivs: "1",
      Seccomp: "2",
      Uid: "10001\t10001\t10001\t10001",
      Gid: "10001\t10001\t10001\t10001",
    });
    expect(status["Groups"]?.trim()).toBe("");
  });

  it.each([
    [["mount", "-t", "tmpfs", "x", "/mnt"]],
    [["unshare", "-U", "true"]],
    [["unshare", "-m", "true"]],
    [["kill", "-9", "1"]],
    [["cat", "/proc/1/environ"]],
    [["cat", "/proc/1/mem"]],
    [["sh", "-c", "echo x > /proc/1/fd/1"]],
    [["sh", "-c", "ls /proc/1/fd/"]],
    [["dd", "if=/.bailiff/init", "of=/.bailiff/init", "conv=notrunc"]],
    [["touch", "/x"]],
    [["touch", "/etc/x"]],
    [["sh", "-c", "echo 1 > /proc/sys/kernel/core_pattern"]],
    [["sh", "-c", "echo 1 > /proc/sysrq-trigger"]],
    [["sh", "-c", "echo 0 > /sys/fs/cgroup/memory/memory.limit_in_bytes"]],
    [["mknod", "disk", "b", "8", "0"]],
    [["cat", "/dev/mem"]],
    [["cat", "/var/run/docker.sock"]],
    [["cat", "/var/run/secrets/kubernetes.io/serviceaccount/token"]],
  ])("do not suffice for %j (FB-55, FB-58)", async (argv) => {
    const { ending } = await bench.run(argv);
    expect(ending.outcome).toBe("completed");
    expect(ending.returncode).not.toBe(0);
  });
});

describe("the network", () => {
  it.each([
    ["an address", "import socket;socket.create_connection(('1.1.1.1',80),2)"],
    ["the metadata service", "import socket;socket.create_connection(('169.254.169.254',80),2)"],
    ["the engine's host", "import socket;socket.create_connection(('172.17.0.1',22),2)"],
    ["a name", "import socket;socket.getaddrinfo('example.com',80)"],
    [
      "a datagram",
      "import socket;socket.socket(socket.AF_INET,socket.SOCK_DGRAM).sendto(b'x',('8.8.8.8',53))",
    ],
    ["a raw socket", "import socket;socket.socket(socket.AF_INET,socket.SOCK_RAW,1)"],
  ])("does not reach %s (FB-55)", async (_, code) => {
    const { ending, stderr } = await bench.run(["python3", "-c", code]);
    expect(ending).toMatchObject({ outcome: "completed", returncode: 1 });
    expect(stderr).toMatch(/OSError|PermissionError|gaierror/);
  });

  it("has no interface but loopback (FB-55)", async () => {
    const { stdout } = await bench.run(["sh", "-c", "tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '"]);
    expect(
      stdout
        .split("\n")
        .filter((name) => name !== "" && name !== "lo" && !/^(sit|tunl|gre|ip6|erspan)/.test(name)),
    ).toEqual([]);
  });
});

describe("space", () => {
  it.each([
    ["/tmp", 64],
    ["/dev/shm", 16],
    ["/home/agent", 64],
  ])("in %s ends at its size, and the command lives (FB-42)", async (directory, mebibytes) => {
    const script = `dd if=/dev/zero of=${directory}/x bs=1M 2>/dev/null; echo $?; stat -c %s ${directory}/x`;
    const { stdout, ending } = await bench.run(["sh", "-c", script]);
    expect(ending).toMatchObject({ outcome: "completed", returncode: 0 });
    expect(stdout).toBe(`1\n${mebibytes << 20}\n`);
  });

  it("in files is bounded in /tmp too (FB-42)", async () => {
    const code =
      "import os\nn=0\ntry:\n while n<200000:\n  os.close(os.open(f'/tmp/{n}',os.O_CREAT|os.O_WRONLY));n+=1\nexcept OSError as e: print(n<70000,e.errno)";
    expect((await bench.run(["python3", "-c", code])).stdout).toBe("True 28\n");
  });

  it("for one file in the workspace is bounded (FB-42)", async () => {
    const { ending, stderr } = await bench.run(["fallocate", "-l", "1T", "big"]);
    expect(ending.returncode).not.toBe(0);
    expect(`${stderr}${ending.signal ?? ""}`).toMatch(/File too large|SIGXFSZ/);
  });

  it("is temporary and fresh, HOME is the command's own", async () => {
    const workspace = await bench.workspace();
    await bench.run(["sh", "-c", "touch /tmp/x /dev/shm/x ~/x"], { workspace });
    const { stdout } = await bench.run(
      ["sh", "-c", "ls -A /tmp /dev/shm; ls -A ~; stat -c '%u %a' ~; echo $HOME"],
      { workspace },
    );
    expect(stdout).toBe("/dev/shm:\n\n/tmp:\n10001 700\n/home/agent\n");
  });
});

describe("limits", () => {
  it("are the profile's", async () => {
    const { stdout } = await bench.run(["sh", "-c", "ulimit -n; ulimit -c; ulimit -f"], {
      limits: { openFiles: 77 },
    });
    expect(stdout).toBe("77\n0\n8388608\n");
  });

  it("on processes hold", async () => {
    const code =
      "import os,time\nn=0\ntry:\n while n<300:\n  if os.fork()==0: time.sleep(60)\n  n+=1\nexcept OSError as e: print(n<40)";
    const { stdout } = await bench.run(["python3", "-c", code], { limits: { pids: 40 } });
    expect(stdout).toBe("True\n");
  });

  it("on the execution of temporary files are lifted only where the profile says so", async () => {
    const script = "cp /bin/true /tmp/t && /tmp/t && cp /bin/true ~/t && ~/t";
    expect((await bench.run(["sh", "-c", script])).ending.returncode).toBe(126);
    expect((await bench.run(["sh", "-c", script], { profile: { execInTmp: true } })).ending.returncode).toBe(
      0,
    );
  });
});
