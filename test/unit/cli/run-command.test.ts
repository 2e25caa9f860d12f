import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { runCommandLine } from "../../../src/cli/command-line.js";
import { createRunCommand } from "../../../src/cli/run-command.js";
import { createCliWorld } from "../../support/cli-world.js";

interface Seen {
  readonly what: string;
  readonly body: unknown;
  readonly key: string | undefined;
  readonly idempotency: string | undefined;
}
type Answer = (request: IncomingMessage, response: ServerResponse) => void;

const NOT_FINISHED = {
  command_id: "cmd_1",
  approval_id: null,
  state: "queued",
  outcome: null,
  effect: null,
  returncode: null,
  signal: null,
  detail: null,
  start_failure: null,
  stdout: null,
  stderr: null,
  partial_output: null,
  stdout_truncated: false,
  stderr_truncated: false,
  stdout_truncated_by: [],
  stderr_truncated_by: [],
  result_omitted: false,
};
const DONE = {
  ...NOT_FINISHED,
  state: "finished",
  outcome: "completed",
  effect: "completed",
  returncode: 0,
  stdout: "",
  stderr: "",
};

const json =
  (status: number, body: unknown): Answer =>
  (_, response) => {
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(body));
  };

let tick: () => void;
const everySecond = (callback: () => void) => {
  tick = callback;
  return () => {
    tick = () => undefined;
  };
};

let server: Server;
let url: string;
let seen: Seen[];
let answers: Record<string, Answer[]>;

beforeEach(async () => {
  seen = [];
  answers = {
    "DELETE /v1/sessions/ses_1": [json(200, {})],
    "POST /v1/sessions": [json(201, { session_id: "ses_1" })],
  };
  server = createServer((request, response) => {
    let text = "";
    request.on("data", (chunk) => {
      text += chunk;
    });
    request.on("end", () => {
      const what = `${request.method} ${request.url}`;
      seen.push({
        what,
        body: text === "" ? null : JSON.parse(text),
        key: request.headers.authorization,
        idempotency: request.headers["idempotency-key"] as string | undefined,
      });
      const next = answers[what]?.shift() ?? json(500, { code: "internal", detail: `unexpected ${what}` });
      next(request, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(() => {
  server.closeAllConnections();
  return new Promise<unknown>((resolve) => server.close(resolve));
});

function run(args: string[], more: { terminal?: boolean; env?: Record<string, string> } = {}) {
  const world = createCliWorld({
    env: { BAILIFF_URL: url, BAILIFF_API_KEY: "blf_k", ...more.env },
    terminal: more.terminal ?? false,
  });
  const status = runCommandLine({
    commands: [createRunCommand({ fetch, everySecond })],
    version: "1",
    args: ["run", ...args],
    world,
  });
  return { world, status };
}

const submits = (...list: Answer[]) => {
  answers["POST /v1/sessions/ses_1/commands"] = list;
};
const gets = (...list: Answer[]) => {
  answers["GET /v1/commands/cmd_1?wait=25"] = list;
};

describe("bailiff run", () => {
  it("prints each stream where it belongs, byte for byte, and exits with the returncode", async () => {
    submits(json(200, { ...DONE, returncode: 7, stdout: "out\u001b[1m", stderr: "err\n" }));
    const { world, status } = run(["--session", "ses_1", "--timeout", "2.5", "--", "ls", "-l", "--json"]);
    expect(await status).toBe(7);
    expect([world.out(), world.err()]).toEqual(["out\u001b[1m", "err\n"]);
    expect(seen).toEqual([
      {
        what: "POST /v1/sessions/ses_1/commands",
        body: { argv: ["ls", "-l", "--json"], timeout_s: 2.5 },
        key: "Bearer blf_k",
        idempotency: expect.stringMatching(/^[0-9a-f-]{36}$/),
      },
    ]);
  });

  it("escapes control characters where the stream is a terminal", async () => {
    submits(json(200, { ...DONE, stdout: "a\u001b]0;x\u0007\tb\n" }));
    const { world, status } = run(["--session", "ses_1", "--", "ls"], { terminal: true });
    await status;
    expect(world.out()).toBe("a\\u001b]0;x\\u0007\tb\n");
  });

  it("opens a session for a workspace and closes it at the end, also when the submit is refused", async () => {
    submits(json(200, DONE));
    expect(await run(["--workspace", "w", "--profile", "p", "--", "ls"]).status).toBe(0);
    expect(seen[0]).toMatchObject({ what: "POST /v1/sessions", body: { workspace_id: "w", profile: "p" } });
    expect(seen.at(-1)?.what).toBe("DELETE /v1/sessions/ses_1");
    answers["POST /v1/sessions"] = [json(201, { session_id: "ses_1" })];
    answers["DELETE /v1/sessions/ses_1"] = [json(200, {})];
    submits(json(403, { code: "denied", detail: "rule x denies" }));
    const { world, status } = run(["--workspace", "w", "--", "ls"]);
    expect(await status).toBe(118);
    expect(world.err()).toBe("bailiff: rule x denies\n");
    expect(seen.at(-1)?.what).toBe("DELETE /v1/sessions/ses_1");
  });

  const ASKED = { ...NOT_FINISHED, state: "awaiting_approval", approval_id: "apr_1" };
  const HOW_TO_DECIDE = [
    "bailiff: cmd_1 waits for a person: approval apr_1",
    "bailiff: to see what is asked: bailiff approvals show apr_1",
    "bailiff: to decide: bailiff approvals approve apr_1, or deny, with a reviewer's key",
    "bailiff: to see how it ended: bailiff commands show cmd_1",
    "",
  ].join("\n");

  it("names the approval and how to decide, and keeps the session of a command that waits for one", async () => {
    submits(json(202, ASKED));
    const { world, status } = run(["--workspace", "w", "--", "ls"]);
    expect(await status).toBe(119);
    expect(world.err()).toBe(HOW_TO_DECIDE);
    expect(seen.map(({ what }) => what)).not.toContain("DELETE /v1/sessions/ses_1");
  });

  it("waits for the person too where it is told so, and closes the session then", async () => {
    submits(json(202, ASKED));
    gets(json(200, ASKED), json(200, { ...DONE, stdout: "built" }));
    const { world, status } = run(["--workspace", "w", "--await-approval", "--", "ls"]);
    expect(await status).toBe(0);
    expect([world.out(), world.err()]).toEqual(["built", HOW_TO_DECIDE]);
    expect(seen.at(-1)?.what).toBe("DELETE /v1/sessions/ses_1");
  });

  it("shows a person on a terminal what a long wait is for, and leaves nothing of it", async () => {
    const waits = () => {
      submits(json(202, NOT_FINISHED));
      answers["GET /v1/commands/cmd_1?wait=5"] = [
        (request, response) => {
          tick();
          tick();
          json(200, { ...DONE, stdout: "x" })(request, response);
        },
      ];
      gets(...(answers["GET /v1/commands/cmd_1?wait=5"] ?? []));
    };
    waits();
    const watched = run(["--session", "ses_1", "--", "ls"], { terminal: true });
    expect(await watched.status).toBe(0);
    const erase = "\r\u001b[2K";
    expect(watched.world.err()).toBe(`${erase}bailiff: cmd_1 is queued, 2 s; Ctrl-C cancels it${erase}`);
    for (const [args, terminal] of [
      [["--quiet"], true],
      [[], false],
    ] as const) {
      waits();
      const { world, status } = run([...args, "--session", "ses_1", "--", "ls"], { terminal });
      expect(await status).toBe(0);
      expect(world.err()).toBe("");
    }
  });

  it("asks on until the command has ended", async () => {
    submits(json(202, NOT_FINISHED));
    gets(json(200, { ...NOT_FINISHED, state: "dispatched" }), json(200, { ...DONE, stdout: "x" }));
    const { world, status } = run(["--session", "ses_1", "--", "ls"]);
    expect(await status).toBe(0);
    expect(world.out()).toBe("x");
  });

  it.each([
    [{ outcome: "denied", effect: "none" }, 118, "bailiff: denied\n"],
    [{ outcome: "approval_expired", effect: "none" }, 118, "bailiff: approval_expired\n"],
    [{ outcome: "cancelled", effect: "none" }, 120, "bailiff: cancelled\n"],
    [
      { outcome: "output_limit_exceeded", effect: "unknown", detail: "stdout" },
      121,
      "bailiff: output_limit_exceeded: stdout; what it did until then is unknown\n",
    ],
    [
      { outcome: "out_of_memory", effect: "unknown" },
      122,
      "bailiff: out_of_memory; what it did until then is unknown\n",
    ],
    [{ outcome: "lost", effect: "unknown" }, 123, "bailiff: lost; what it did until then is unknown\n"],
    [
      { outcome: "timed_out", effect: "unknown" },
      124,
      "bailiff: timed_out; what it did until then is unknown\n",
    ],
    [
      {
        outcome: "start_failed",
        effect: "none",
        start_failure: { stage: "exec", errno: "EACCES", message: "argv[0]: m" },
      },
      126,
      "bailiff: start_failed: argv[0]: m\n",
    ],
    [
      {
        outcome: "start_failed",
        effect: "none",
        start_failure: { stage: "chdir", errno: "ENOENT", message: "dir" },
      },
      126,
      "bailiff: start_failed: dir\n",
    ],
    [
      {
        outcome: "start_failed",
        effect: "none",
        start_failure: { stage: "exec", errno: "ENOENT", message: "argv[0]: not found" },
      },
      127,
      "bailiff: start_failed: argv[0]: not found\n",
    ],
    [
      { outcome: "completed", effect: "completed", returncode: 143, signal: "SIGTERM" },
      143,
      "bailiff: ended by SIGTERM\n",
    ],
    [
      { outcome: "completed", effect: "unknown", returncode: 0, result_omitted: true },
      0,
      "bailiff: the output was too large to keep; only its size and hash are known\n",
    ],
  ])("ends %j with its own status", async (result, expected, message) => {
    submits(json(200, { ...NOT_FINISHED, state: "finished", ...result }));
    const { world, status } = run(["--session", "ses_1", "--", "ls"]);
    expect(await status).toBe(expected);
    expect(world.err()).toBe(message);
  });

  it("shows partial output and says what was cut", async () => {
    submits(
      json(200, {
        ...NOT_FINISHED,
        state: "finished",
        outcome: "timed_out",
        effect: "unknown",
        partial_output: { stdout: "half", stderr: "" },
        stdout_truncated: true,
        stdout_truncated_by: ["capture_bytes"],
      }),
    );
    const { world, status } = run(["--session", "ses_1", "--", "ls"]);
    await status;
    expect(world.out()).toBe("half");
    expect(world.err()).toContain("bailiff: stdout is cut (capture_bytes)\n");
  });

  it("prints the whole answer as JSON when asked, members it does not know too", async () => {
    submits(json(200, { ...DONE, newer: 1, returncode: 3 }));
    const { world, status } = run(["--session", "ses_1", "--json", "--", "ls"]);
    expect(await status).toBe(3);
    expect(JSON.parse(world.out())).toEqual({ ...DONE, newer: 1, returncode: 3 });
    expect(world.err()).toBe("");
  });

  it("submits again under the same key where the connection broke or the service was full, never behind a denial", async () => {
    const problem = (status: number, code: string) => json(status, { code, detail: code });
    submits((request) => request.socket.destroy(), problem(503, "overloaded"), json(200, DONE));
    expect(await run(["--session", "ses_1", "--", "ls"]).status).toBe(0);
    expect(seen).toHaveLength(3);
    expect(new Set(seen.map(({ idempotency }) => idempotency)).size).toBe(1);
    seen.length = 0;
    submits(problem(403, "denied"), json(200, DONE));
    const { world, status } = run(["--session", "ses_1", "--", "ls"]);
    expect(await status).toBe(118);
    expect(world.err()).toBe("bailiff: denied\n");
    expect(seen).toHaveLength(1);
  });

  it("cancels on Ctrl-C while it waits for a dispatched command, and still reports the end", async () => {
    const { world, status } = run(["--session", "ses_1", "--", "sleep", "9"]);
    submits(json(202, NOT_FINISHED));
    gets(
      () => world.interrupt(),
      json(200, { ...NOT_FINISHED, state: "finished", outcome: "cancelled", effect: "unknown" }),
    );
    answers["POST /v1/commands/cmd_1/cancel"] = [json(200, NOT_FINISHED)];
    expect(await status).toBe(120);
    expect(world.err()).toBe(
      "bailiff: cancelling cmd_1\nbailiff: cancelled; what it did until then is unknown\n",
    );
  });

  it("finds and cancels the command where Ctrl-C came during the submit", async () => {
    const { world, status } = run(["--session", "ses_1", "--", "sleep", "9"]);
    submits(() => world.interrupt(), json(202, NOT_FINISHED));
    answers["POST /v1/commands/cmd_1/cancel"] = [json(200, NOT_FINISHED)];
    gets(json(200, { ...NOT_FINISHED, state: "finished", outcome: "cancelled", effect: "none" }));
    expect(await status).toBe(120);
    expect(seen.map(({ what }) => what)).toEqual([
      "POST /v1/sessions/ses_1/commands",
      "POST /v1/sessions/ses_1/commands",
      "POST /v1/commands/cmd_1/cancel",
      "GET /v1/commands/cmd_1?wait=25",
    ]);
    expect(seen[0]?.idempotency).toBe(seen[1]?.idempotency);
  });

  it("follows no redirect with its key", async () => {
    submits((_, response) => {
      response.writeHead(307, { location: `${url}/elsewhere` });
      response.end();
    });
    const { status } = run(["--session", "ses_1", "--", "ls"]);
    expect(await status).toBe(117);
    expect(seen.map(({ what }) => what)).not.toContain("POST /elsewhere");
  });

  it("names the faults of a refused request and no control character of the service", async () => {
    submits(
      json(400, {
        code: "invalid_request",
        detail: "not valid\u001b[2J",
        errors: [{ path: "/argv/0", message: "must not be blank" }],
      }),
    );
    const { world, status } = run(["--session", "ses_1", "--", " "]);
    expect(await status).toBe(117);
    expect(world.err()).toBe("bailiff: not valid\\u001b[2J; /argv/0: must not be blank\n");
  });

  it("takes the key from a file before the variable", async () => {
    const directory = await mkdtemp(join(tmpdir(), "bailiff-run-"));
    try {
      await writeFile(join(directory, "key"), "blf_from_file\n");
      submits(json(200, DONE), json(200, DONE));
      await run(["--session", "ses_1", "--key-file", join(directory, "key"), "--", "ls"]).status;
      expect(seen.at(-1)?.key).toBe("Bearer blf_from_file");
    } finally {
      await rm(directory, { recursive: true });
    }
  });

  it.each([
    [["--session", "s", "--"], {}, /nothing to run/],
    [["--session", "s", "ls"], {}, /put -- before/],
    [["--", "ls"], {}, /either --session or --workspace/],
    [["--session", "s", "--workspace", "w", "--", "ls"], {}, /either --session or --workspace/],
    [["--session", "s", "--timeout", "0", "--", "ls"], {}, /--timeout/],
    [["--session", "s", "--timeout", "1e3", "--", "ls"], {}, /--timeout/],
    [["--session", "s", "--url", "ftp://x", "--", "ls"], {}, /--url/],
    [["--session", "s", "--", "ls"], { BAILIFF_API_KEY: "a\nb" }, /not one word/],
    [["--session", "s", "--", "ls"], { BAILIFF_API_KEY: "" }, /not one word/],
  ])("refuses %j with 2 before it sends anything", async (args, env, text) => {
    const { world, status } = run(args, { env: env as Record<string, string> });
    expect(await status).toBe(2);
    expect(world.err()).toMatch(text);
    expect(seen).toEqual([]);
  });

  it("says where it could not reach the service", async () => {
    const { world, status } = run(["--session", "s", "--url", "http://127.0.0.1:1", "--", "ls"]);
    expect(await status).toBe(117);
    expect(world.err()).toBe("bailiff: the service at http://127.0.0.1:1 can't be reached\n");
  });
});
