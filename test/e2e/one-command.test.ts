import { execFile } from "node:child_process";
import { chmod, mkdir, readdir, readFile, readlink, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Agent, BailiffProcess, Installation } from "../support/bailiff.js";
import { createInstallation, openAgent } from "../support/bailiff.js";
import { containersOf } from "../support/engine-containers.js";
import { rawTar } from "../support/tar-bytes.js";

const exec = promisify(execFile);

let installation: Installation;
let bailiff: BailiffProcess;
let agent: Agent;

beforeAll(async () => {
  installation = await createInstallation({ worker: { warm: { idle_ms: 1_000 } } });
  bailiff = await installation.start("all");
  agent = await openAgent(installation, bailiff);
});

afterAll(async () => {
  await bailiff?.stop();
  await installation?.remove();
});

/** Runs shell text from a file: what the text says is then the program's business, not the request's. */
let scripts = 0;
const sh = async (text: string, more: Record<string, unknown> = {}) => {
  scripts += 1;
  const name = `script-${scripts}.sh`;
  await writeFile(join(agent.directory, name), text, { mode: 0o644 });
  return agent.submit(["sh", name], more);
};

describe("files of a caller that does not share the volume", () => {
  test("go in as docs/api.md shows, are worked on by a command, and come out again", async () => {
    const page = await readFile(new URL("../../docs/api.md", import.meta.url), "utf8");
    const [send = "", fetchBack = ""] =
      /```sh\n([^`]*curl[^`]*archive[^`]*)```/.exec(page)?.[1]?.trim().split("\n") ?? [];
    const place = join(installation.directory, "caller");
    await mkdir(join(place, "repo", "src"), { recursive: true });
    await mkdir(join(place, "out"));
    await writeFile(join(place, "repo", "src", "data"), "3\n1\n2\n");
    await writeFile(join(place, "repo", "sort.sh"), "sort src/data > sorted");
    await symlink("src/data", join(place, "repo", "link"));
    const key = await installation.key("remote");
    const shell = (line: string) =>
      exec("sh", ["-c", line], {
        cwd: place,
        env: { PATH: process.env["PATH"], BAILIFF_URL: bailiff.url, BAILIFF_API_KEY: key },
      });
    await bailiff.call(key, "PUT", "/v1/workspaces/repo-1");
    const { stdout } = await shell(send);
    expect(JSON.parse(stdout)).toMatchObject({ entries: 4 });
    const session = await bailiff.call(key, "POST", "/v1/sessions", {
      workspace_id: "repo-1",
      grant: { level: "allow_all" },
    });
    const ran = await bailiff.call(
      key,
      "POST",
      `/v1/sessions/${session.body.session_id}/commands`,
      { argv: ["sh", "sort.sh"] },
      { prefer: "wait=60" },
    );
    expect(ran.body).toMatchObject({ outcome: "completed", returncode: 0 });
    await shell(fetchBack);
    expect(await readFile(join(place, "out", "sorted"), "utf8")).toBe("1\n2\n3\n");
    expect(await readlink(join(place, "out", "link"))).toBe("src/data");

    const evil = await fetch(`${bailiff.url}/v1/workspaces/repo-1/archive`, {
      method: "PUT",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/x-tar" },
      body: rawTar({ name: "../../escaped", body: "x" }),
    });
    expect([evil.status, await evil.json()]).toMatchObject([
      400,
      { code: "invalid_request", entry: "../../escaped", detail: expect.stringContaining("goes up") },
    ]);
    const absent = await bailiff.call(key, "GET", "/v1/workspaces/none/archive");
    expect(absent.status).toBe(404);
  });
});

describe("what a caller sees of an end", () => {
  test("exact bytes, both streams and the returncode (FB-1)", async () => {
    const answer = await sh("printf A; printf B >&2; exit 7");
    expect(answer.status).toBe(201);
    expect(answer.body).toMatchObject({
      state: "finished",
      outcome: "completed",
      effect: "completed",
      returncode: 7,
      signal: null,
      stdout: "A",
      stderr: "B",
      stdout_bytes: 1,
      stdout_truncated: false,
      partial_output: null,
      result_omitted: false,
    });
  });

  test("the five answers that look like 137 (FB-19)", async () => {
    const ends = await Promise.all([
      sh("exit 137"),
      sh("kill -9 $$"),
      agent.submit(["python3", "-c", "x = bytearray(3 * 10**9)"]),
      sh("python3 -c 'x = bytearray(3 * 10**9)'; echo after"),
      sh("sleep 30", { timeout_s: 0.5 }),
    ]);
    expect(
      ends.map(({ body }) => [
        body.outcome,
        body.effect,
        body.returncode,
        body.signal,
        body.usage.oom_kills > 0,
      ]),
    ).toEqual([
      ["completed", "completed", 137, null, false],
      ["completed", "completed", 137, "SIGKILL", false],
      ["out_of_memory", "unknown", null, null, true],
      ["completed", "completed", 0, null, true],
      ["timed_out", "unknown", null, null, false],
    ]);
  });

  test("a killed command shows its output only as partial (FB-10)", async () => {
    const { body } = await sh("echo partial; sleep 60", { timeout_s: 1 });
    expect(body).toMatchObject({
      outcome: "timed_out",
      effect: "unknown",
      returncode: null,
      stdout: null,
      partial_output: { stdout: "partial\n", stderr: "" },
    });
  });

  test("a start that failed never happened, and says what failed (FB-23)", async () => {
    await writeFile(join(agent.directory, "plain"), "no shebang", { mode: 0o755 });
    const ends = await Promise.all([
      agent.submit(["no-such-command"]),
      agent.submit(["./plain"]),
      agent.submit(["/workspace"]),
      sh("exit 127"),
    ]);
    expect(
      ends.map(({ body }) => [body.outcome, body.effect, body.start_failure?.errno ?? body.returncode]),
    ).toEqual([
      ["start_failed", "none", "ENOENT"],
      ["start_failed", "none", "ENOEXEC"],
      ["start_failed", "none", "EACCES"],
      ["completed", "completed", 127],
    ]);
  });

  test("passing the hard byte bound ends the command (FB-7)", async () => {
    const { body } = await agent.submit(["yes"]);
    expect(body).toMatchObject({ outcome: "output_limit_exceeded", effect: "unknown", returncode: null });
    expect(body.stdout_bytes).toBeGreaterThan(8 << 20);
  });

  test("every layer that cuts is flagged, and the other stream stays whole (FB-6)", async () => {
    const { body } = await sh("head -c 1500000 /dev/zero | tr '\\0' x >&2; printf abc", {
      max_stderr_chars: 10,
    });
    expect(body).toMatchObject({
      outcome: "completed",
      stdout: "abc",
      stdout_truncated: false,
      stderr: "x".repeat(10),
      stderr_truncated: true,
      stderr_truncated_by: ["capture_bytes", "service_chars", "request_chars"],
      stderr_bytes: 1_500_000,
    });
  });

  test("a result past the persistence bound keeps returncode, counts and hashes (FB-56)", async () => {
    const { body } = await sh("head -c 200000 /dev/zero; head -c 200000 /dev/zero >&2; exit 3", {
      max_stdout_chars: 200_000,
      max_stderr_chars: 200_000,
    });
    expect(body).toMatchObject({
      outcome: "completed",
      effect: "unknown",
      returncode: 3,
      result_omitted: true,
      stdout: null,
      stdout_bytes: 200_000,
    });
    expect(body.stdout_sha256).toMatch(/^[0-9a-f]{64}$/);
  });

  test("invalid UTF-8 becomes replacement characters and is said (FB-4)", async () => {
    const { body } = await agent.submit(["printf", "a\\377b\\000c"]);
    expect(body).toMatchObject({ stdout: "a\uFFFDb\0c", utf8_replaced: { stdout: true, stderr: false } });
  });

  test("argv is data: no shell reads it", async () => {
    const words = ["*", "$HOME", "|", "; exit 9", "$(id)", "\n", "\u202E"];
    const { body } = await agent.submit(["printf", "%s\\n", ...words]);
    expect(body.stdout).toBe(words.map((word) => `${word}\n`).join(""));
  });
});

describe("the world of a command", () => {
  test("has no privileges, no network, no engine and no environment of the service (FB-28, FB-55, FB-58)", async () => {
    const { body } = await sh(
      "grep -E '^(Uid|CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status; env | sort; ls /var/run/docker.sock; cat /proc/net/route | wc -l",
    );
    expect(body.stdout).toContain("CapEff:\t0000000000000000");
    expect(body.stdout).toContain("CapBnd:\t0000000000000000");
    expect(body.stdout).toContain("NoNewPrivs:\t1");
    expect(body.stdout).toContain("Seccomp:\t2");
    expect(body.stdout).toContain("HOME=/home/agent\nLANG=C.UTF-8\n");
    expect(body.stdout).not.toContain("BAILIFF");
    expect(body.stderr).toContain("No such file or directory");
  });

  test("writes as the workspace's owner, in a directory only the owner can read (FB-39)", async () => {
    await chmod(agent.directory, 0o700);
    const { body } = await sh("touch made && stat -c %u made");
    expect(body).toMatchObject({ returncode: 0, stdout: "10001\n" });
  });

  test("children do not outlive the answer (FB-13, FB-16)", async () => {
    const { body } = await sh("(sleep 2; touch late) & setsid sh -c 'sleep 2; touch late' & exit 0");
    expect(body).toMatchObject({ outcome: "completed", returncode: 0 });
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    expect(await readdir(agent.directory)).not.toContain("late");
  });

  test("a link out of the workspace leads nowhere (FB-31)", async () => {
    await symlink("/", join(agent.directory, "out"));
    for (const argv of [
      ["cat", "out/etc/passwd"],
      ["ls", "out"],
      ["cat", "../../etc/passwd"],
    ]) {
      const answer = await agent.submit(argv);
      expect(answer.status).toBe(403);
      expect(
        answer.body.decision.layers.find((layer: { verdict: string }) => layer.verdict === "deny").layer,
      ).toBe("containment");
    }
    const moved = await bailiff.call(agent.key, "PUT", `/v1/sessions/${agent.sessionId}/cwd`, {
      path: "out/etc",
    });
    expect(moved.status).toBe(403);
  });
});

describe("decisions and waiting", () => {
  test("a denial is a 403 with every layer's verdict, and leaves a record", async () => {
    const answer = await agent.submit(["rm", "-rf", "x"]);
    expect(answer.status).toBe(403);
    expect(answer.body).toMatchObject({ code: "denied", decision: { verdict: "deny" } });
    const kept = await bailiff.call(agent.key, "GET", `/v1/commands/${answer.body.command_id}`);
    expect(kept.body).toMatchObject({ outcome: "denied", effect: "none", state: "finished" });
  });

  test("an ask waits, and nothing has run", async () => {
    const careful = await openAgent(installation, bailiff, {
      tenant: "careful",
      grant: { level: "allowlist" },
    });
    const answer = await careful.submit(["touch", "made-by-ask"], {}, {});
    expect(answer.status).toBe(202);
    expect(answer.body.state).toBe("awaiting_approval");
    expect(answer.headers.get("location")).toBe(`/v1/commands/${answer.body.command_id}`);
    expect(await readdir(careful.directory)).toEqual([]);
  });

  test("without a wait the answer is 202, and GET waits for the end", async () => {
    const queued = await agent.submit(["sh", "-c", "sleep 0.3; echo done"], {}, {});
    expect(queued.status).toBe(202);
    const end = await bailiff.call(agent.key, "GET", `/v1/commands/${queued.body.command_id}?wait=30`);
    expect(end.body).toMatchObject({ state: "finished", stdout: "done\n" });
  });

  test("navigation chooses where a command runs, and only a directory that exists", async () => {
    await sh("mkdir -p deep/er");
    const go = (path: string) =>
      bailiff.call(agent.key, "PUT", `/v1/sessions/${agent.sessionId}/cwd`, { path });
    expect((await go("deep/./er/")).body.cwd).toBe("deep/er");
    expect((await agent.submit(["pwd"])).body.stdout).toBe("/workspace/deep/er\n");
    expect((await go("../..")).body.cwd).toBe(".");
    expect((await go("nowhere")).status).toBe(400);
    expect((await go("..")).status).toBe(403);
  });

  test("a running command is cancelled with its effect unknown", async () => {
    const started = await agent.submit(["sh", "-c", "echo began; sleep 60"], { timeout_s: 100 }, {});
    const path = `/v1/commands/${started.body.command_id}`;
    await expect
      .poll(async () => (await bailiff.call(agent.key, "GET", path)).body.state, { timeout: 20_000 })
      .toBe("dispatched");
    await bailiff.call(agent.key, "POST", `${path}/cancel`);
    const end = await bailiff.call(agent.key, "GET", `${path}?wait=20`);
    expect(end.body).toMatchObject({ outcome: "cancelled", effect: "unknown", returncode: null });
  });
});

describe("tenants", () => {
  test("can't see, guess or touch another's things: 404, not 403", async () => {
    const { body } = await sh("echo mine");
    const other = await installation.key("rival");
    const probes: [string, string, unknown?][] = [
      ["GET", `/v1/commands/${body.command_id}`],
      ["POST", `/v1/commands/${body.command_id}/cancel`],
      ["GET", `/v1/sessions/${agent.sessionId}`],
      ["DELETE", `/v1/sessions/${agent.sessionId}`],
      ["PUT", `/v1/sessions/${agent.sessionId}/cwd`, { path: "." }],
      ["POST", `/v1/sessions/${agent.sessionId}/commands`, { argv: ["ls"] }],
      ["GET", "/v1/workspaces/main"],
      ["DELETE", "/v1/workspaces/main"],
      ["POST", "/v1/sessions", { workspace_id: "main" }],
    ];
    for (const [method, path, payload] of probes) {
      const answer = await bailiff.call(other, method, path, payload);
      expect([method, path, answer.status, answer.body.code]).toEqual([method, path, 404, "not_found"]);
    }
    expect((await bailiff.call(other, "GET", "/v1/commands")).body.commands).toEqual([]);
  });

  test("two tenants' workspaces of one name are two directories", async () => {
    const rival = await openAgent(installation, bailiff, { tenant: "rival2" });
    await sh("echo secret > note");
    expect((await rival.submit(["cat", "note"])).body.returncode).toBe(1);
    expect(await readFile(join(agent.directory, "note"), "utf8")).toBe("secret\n");
  });
});

test("after all that no container of this deployment is left", async () => {
  await expect.poll(() => containersOf(installation.deployment), { timeout: 60_000 }).toEqual([]);
});
