import { readdirSync, readFileSync } from "node:fs";
import fc from "fast-check";
import ts from "typescript";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { BailiffProblem, byEffect, createBailiffClient, NoAnswer } from "../../../src/client/index.js";
import {
  completedCommand,
  type Fault,
  type FaultyService,
  startFaultyService,
} from "../../support/client/faulty-service.js";

const SUBMISSION = { argv: ["ls"] };
const NO_PAUSE = { firstMs: 0, longestMs: 0 };

let service: FaultyService;
beforeEach(async () => {
  service = await startFaultyService();
});
afterEach(() => service.close());

const clientOf = (more: Partial<Parameters<typeof createBailiffClient>[0]> = {}) =>
  createBailiffClient({ url: service.url, key: "blf_k", pauses: NO_PAUSE, ...more });
const keysSeen = () => new Set(service.seen.map(({ headers }) => headers["idempotency-key"]));

describe("a submit", () => {
  it("whose answer is lost is one command: the repeat has the same key and finds it", async () => {
    service.faults = ["lose", "half"];
    const command = await clientOf().commands.submit("ses_1", SUBMISSION);
    expect(command).toMatchObject({ command_id: "cmd_1", effect: "completed" });
    expect([service.seen.length, service.commands.size, keysSeen().size]).toEqual([3, 1, 1]);
    expect(service.seen[0]?.headers.authorization).toBe("Bearer blf_k");
  });

  it("is one command and has one key, whatever fails and however often", async () => {
    const fault = fc.constantFrom<Fault>(
      "answer",
      "drop",
      "lose",
      "half",
      "overloaded",
      "store_unavailable",
      "rate_limited",
      "bad_gateway",
      "denied",
    );
    await fc.assert(
      fc.asyncProperty(fc.array(fault, { maxLength: 6 }), fc.boolean(), async (faults, isRun) => {
        service.seen.length = 0;
        const before = service.commands.size;
        service.faults = [...faults];
        const { commands } = clientOf();
        const asked = isRun ? commands.run("ses_1", SUBMISSION) : commands.submit("ses_1", SUBMISSION);
        const end = await asked.catch((error: unknown) => error);
        expect(service.commands.size - before).toBeLessThanOrEqual(1);
        expect(keysSeen().size).toBe(1);
        const first = faults.findIndex((one) => one === "answer" || one === "denied");
        const decisive = first === -1 ? faults.length : first;
        // Nothing is asked behind a denial or an answer, and never more than four times.
        expect(service.seen.length).toBe(Math.min(4, decisive + 1));
        if (decisive >= 4) {
          if (end instanceof NoAnswer) expect(keysSeen()).toEqual(new Set([end.idempotencyKey]));
          else expect(end).toBeInstanceOf(BailiffProblem);
        } else if (faults[decisive] === "denied") expect(end).toMatchObject({ code: "denied" });
        else expect(end).toMatchObject({ effect: "completed" });
      }),
      { numRuns: 60 },
    );
  });

  it("without an answer names the key under which the same submit finds its command", async () => {
    service.faults = ["lose"];
    const once = clientOf({ attempts: 1 });
    const lost = await once.commands.submit("ses_1", SUBMISSION).catch((error: unknown) => error);
    expect(lost).toMatchObject({ name: "NoAnswer", reason: "unreachable" });
    const idempotencyKey = (lost as NoAnswer).idempotencyKey ?? undefined;
    expect(await once.commands.submit("ses_1", SUBMISSION, { idempotencyKey })).toMatchObject({
      command_id: "cmd_1",
    });
    expect(service.commands.size).toBe(1);
  });

  it("has a key of its own each time, unless it is given one", async () => {
    await clientOf().commands.submit("ses_1", SUBMISSION);
    await clientOf().commands.submit("ses_1", SUBMISSION);
    await clientOf().commands.submit("ses_1", SUBMISSION, { idempotencyKey: "step-17" });
    expect(keysSeen().size).toBe(3);
    expect([...keysSeen()][2]).toBe("step-17");
  });
});

describe("a repeat", () => {
  it.each<[string, (client: ReturnType<typeof clientOf>) => Promise<unknown>]>([
    ["a denied submit", ({ commands }) => commands.submit("ses_1", SUBMISSION)],
    ["a denied look", ({ commands }) => commands.get("cmd_1")],
  ])("is never made of %s", async (_what, ask) => {
    service.faults = ["denied"];
    await expect(ask(clientOf())).rejects.toMatchObject({ code: "denied", status: 403 });
    expect(service.seen).toHaveLength(1);
  });

  it.each<[string, (client: ReturnType<typeof clientOf>) => Promise<unknown>]>([
    ["opening a session", ({ sessions }) => sessions.open({ workspace_id: "w" })],
    ["a decision", ({ approvals }) => approvals.approve("apr_1")],
    ["a relative step", ({ sessions }) => sessions.setCwd("ses_1", "..")],
    ["closing a session", ({ sessions }) => sessions.close("ses_1")],
    ["removing a workspace", ({ workspaces }) => workspaces.delete("w")],
    [
      "an archive that can be read once",
      ({ workspaces }) => workspaces.putArchive("w", new Blob(["1"]).stream()),
    ],
  ])("is never made of %s: twice is not once", async (_what, ask) => {
    service.faults = ["lose"];
    await expect(ask(clientOf())).rejects.toMatchObject({ name: "NoAnswer", reason: "unreachable" });
    expect(service.seen).toHaveLength(1);
  });

  it.each<[string, (client: ReturnType<typeof clientOf>) => Promise<unknown>]>([
    ["a look", ({ sessions }) => sessions.get("ses_1")],
    ["naming a workspace", ({ workspaces }) => workspaces.put("w")],
    ["an archive's bytes", ({ workspaces }) => workspaces.putArchive("w", new TextEncoder().encode("1"))],
    ["an absolute step", ({ sessions }) => sessions.setCwd("ses_1", "/workspace/src")],
    [
      "a label",
      ({ sessions }) =>
        sessions.putObject("s", "o", { sensitivity: "normal", trust: "unknown", categories: [] }),
    ],
    ["an explain", ({ policy }) => policy.explain("ses_1", SUBMISSION)],
  ])("is made of %s", async (_what, ask) => {
    service.faults = ["lose", "store_unavailable", "bad_gateway"];
    await ask(clientOf());
    expect(service.seen).toHaveLength(4);
  });

  it("comes no sooner than the service asked for, and not at all where that is too late for the caller", async () => {
    service.retryAfter = "1";
    service.faults = ["rate_limited"];
    await clientOf().commands.submit("ses_1", SUBMISSION);
    const [first, second] = service.seen;
    // A timer may be a millisecond early.
    expect((second?.atMs ?? 0) - (first?.atMs ?? 0)).toBeGreaterThan(990);
    service.faults = ["overloaded"];
    const hurried = clientOf().commands.submit("ses_1", SUBMISSION, { timeoutMs: 900 });
    await expect(hurried).rejects.toMatchObject({ code: "overloaded", retryAfterMs: 1000 });
    service.retryAfter = "3600";
    service.faults = ["overloaded"];
    await expect(clientOf().commands.get("cmd_1")).rejects.toMatchObject({ retryAfterMs: 3_600_000 });
    expect(service.seen).toHaveLength(4);
  });

  it("follows no redirect with the key", async () => {
    service.scripted.set("GET /v1/sessions/ses_1", (_, response) => {
      response.writeHead(307, { location: `${service.url}/elsewhere` }).end();
    });
    await expect(clientOf({ attempts: 1 }).sessions.get("ses_1")).rejects.toBeInstanceOf(NoAnswer);
    expect(service.seen.map(({ path }) => path)).toEqual(["/v1/sessions/ses_1"]);
  });
});

describe("time and leaving", () => {
  it("gives up a try that has no answer in time, and tries again", async () => {
    service.faults = ["silent"];
    const patient = clientOf({ answerTimeoutMs: 100 });
    expect(await patient.commands.submit("ses_1", SUBMISSION)).toMatchObject({ command_id: "cmd_1" });
    expect([service.seen.length, keysSeen().size]).toEqual([2, 1]);
  });

  it("ends a call whose time is over, and says that its outcome is not known", async () => {
    service.faults = ["silent", "silent", "silent", "silent"];
    const ended = clientOf().commands.run("ses_1", SUBMISSION, { timeoutMs: 100 });
    await expect(ended).rejects.toMatchObject({
      reason: "timeout",
      idempotencyKey: expect.stringMatching(/^[0-9a-f]{32}$/),
    });
    expect(service.seen).toHaveLength(1);
  });

  it("ends with the caller's own reason, in a try and in a pause, and asks nothing more", async () => {
    const reason = new Error("the user has left");
    const leaving = new AbortController();
    service.faults = ["silent"];
    const waiting = clientOf().commands.get("cmd_1", { signal: leaving.signal });
    setTimeout(() => leaving.abort(reason), 50);
    await expect(waiting).rejects.toBe(reason);
    await expect(clientOf().commands.get("cmd_1", { signal: leaving.signal })).rejects.toBe(reason);
    const pausing = new AbortController();
    service.retryAfter = "30";
    service.faults = ["overloaded"];
    const paused = clientOf().commands.get("cmd_1", { signal: pausing.signal });
    setTimeout(() => pausing.abort(reason), 50);
    await expect(paused).rejects.toBe(reason);
    expect(service.seen).toHaveLength(2);
  });

  it("waits by asking on until the command has ended", async () => {
    const steps = ["queued", "dispatched"].map((state) =>
      completedCommand("cmd_1", { state, outcome: null, effect: null }),
    );
    service.scripted.set("GET /v1/commands/cmd_1", (_, response) => {
      response.end(JSON.stringify(steps.shift() ?? completedCommand("cmd_1", { stdout: "x" })));
    });
    expect(await clientOf().commands.wait("cmd_1")).toMatchObject({ stdout: "x" });
    expect(service.seen).toHaveLength(3);
  });
});

describe("events", () => {
  const message = (id: number, event: string) =>
    `event: ${event}\r\nid: ${id}\r\ndata: ${JSON.stringify({ command_id: "cmd_1", event })}\r\n\r\n`;

  it("come each once across broken connections, and end behind finished", async () => {
    const parts = [
      `retry: 1\n\n${message(1, "created")}${message(3, "queued").slice(0, 20)}`,
      `${message(3, "queued")}:\n\n`,
      message(6, "finished"),
    ];
    service.scripted.set("GET /v1/commands/cmd_1/events", (_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      const text = parts.shift() ?? "";
      // Byte by byte, so that every line end is cut somewhere; then the connection breaks.
      for (const char of text) response.write(char);
      response.write("", () => setImmediate(() => response.destroy()));
    });
    const got: string[] = [];
    for await (const { id, event } of clientOf().commands.events("cmd_1")) got.push(`${id} ${event}`);
    expect(got).toEqual(["1 created", "3 queued", "6 finished"]);
    expect(service.seen.map(({ headers }) => headers["last-event-id"])).toEqual([undefined, "1", "3"]);
  });

  it("end where nothing can follow, and with the loop that reads them", async () => {
    service.scripted.set("GET /v1/commands/cmd_1/events", (request, response) => {
      if (request.headers["last-event-id"] === "6") return void response.writeHead(204).end();
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(message(1, "created"));
    });
    for await (const _ of clientOf().commands.events("cmd_1", { lastEventId: "6" })) expect.fail();
    const leaving = new AbortController();
    const got: string[] = [];
    const follow = async () => {
      for await (const { event } of clientOf().commands.events("cmd_1", { signal: leaving.signal })) {
        got.push(event);
        leaving.abort(new Error("left"));
      }
    };
    await expect(follow()).rejects.toThrow("left");
    for await (const { event } of clientOf().commands.events("cmd_1")) {
      got.push(event);
      break;
    }
    expect(got).toEqual(["created", "created"]);
  });
});

describe("an archive", () => {
  it("that breaks off ends in NoAnswer, never as if it were whole; one that nobody reads on lets go of its connection", async () => {
    let isClosed = false;
    let isCut = true;
    service.scripted.set("GET /v1/workspaces/w/archive", (_request, response) => {
      response.on("close", () => {
        isClosed = true;
      });
      response.writeHead(200, { "content-type": "application/x-tar" });
      response.write("first", () => isCut && response.socket?.destroy());
    });
    const broken = await clientOf().workspaces.getArchive("w");
    await expect(new Response(broken).text()).rejects.toMatchObject({
      name: "NoAnswer",
      reason: "unreachable",
    });
    isCut = false;
    isClosed = false;
    const left = (await clientOf().workspaces.getArchive("w")).getReader();
    expect(new TextDecoder().decode((await left.read()).value)).toBe("first");
    await left.cancel();
    await expect.poll(() => isClosed, { timeout: 10_000 }).toBe(true);
    const leaving = new AbortController();
    const open = await clientOf().workspaces.getArchive("w", { signal: leaving.signal });
    leaving.abort("enough");
    await expect(new Response(open).text()).rejects.toBe("enough");
  });
});

describe("an answer", () => {
  const BASE = completedCommand("cmd_1");
  it.each([
    ["an effect that is not known here", { ...BASE, effect: "partial" }],
    ["an effect that does not fit its outcome", { ...BASE, outcome: "timed_out" }],
    ["a completed command without its text", { ...BASE, stdout: null }],
    ["a command that ended in no way", { ...BASE, outcome: null, effect: null }],
    ["something else", []],
  ])("that is %s is never guessed at", async (_what, answer) => {
    service.scripted.set("GET /v1/commands/cmd_1", (_, response) => {
      response.end(JSON.stringify(answer));
    });
    await expect(clientOf().commands.get("cmd_1")).rejects.toMatchObject({ reason: "unexpected" });
  });

  it("goes the way of its effect; without its text a completed command is unknown", async () => {
    const answers = [
      BASE,
      { ...BASE, outcome: "denied", effect: "none", returncode: null, stdout: null, stderr: null },
      { ...BASE, outcome: "timed_out", effect: "unknown", partial_output: { stdout: "half", stderr: "" } },
      { ...BASE, effect: "unknown", returncode: 3, stdout: null, result_omitted: true },
    ];
    service.scripted.set("GET /v1/commands/cmd_1", (_, response) => {
      response.end(JSON.stringify(answers.shift()));
    });
    const ways: unknown[] = [];
    for (let left = answers.length; left > 0; left -= 1) {
      const command = await clientOf().commands.wait("cmd_1");
      ways.push(
        byEffect(command, {
          completed: ({ returncode }) => returncode,
          none: ({ outcome }) => outcome,
          unknown: (unknown) =>
            unknown.outcome === "completed" ? unknown.kept : (unknown.partial_output?.stdout ?? null),
        }),
      );
      expect(command.effect === "completed" || !("stdout" in command)).toBe(true);
    }
    expect(ways).toEqual([0, "denied", "half", { returncode: 3, signal: null }]);
  });
});

describe("the client", () => {
  it("quotes no key that can't be sent, and lets no id choose another path", async () => {
    const broken = await clientOf({ key: "secret\n" })
      .commands.get("cmd_1")
      .catch((error: unknown) => error);
    expect(String(broken)).not.toContain("secret");
    await expect(clientOf().workspaces.delete("..")).rejects.toThrow(TypeError);
    await clientOf().workspaces.get("a/../../v1/sessions");
    expect(service.seen.map(({ path }) => path)).toEqual(["/v1/workspaces/a%2F..%2F..%2Fv1%2Fsessions"]);
  });

  it("asks for a fresh key at each try, and finds a service under a path", async () => {
    const keys = ["one", "two"];
    service.faults = ["drop"];
    const client = clientOf({ url: `${service.url}/bailiff/`, key: async () => keys.shift() ?? "" });
    await client.sessions.get("ses_1");
    expect(service.seen.map(({ path, headers }) => [path, headers.authorization])).toEqual([
      ["/bailiff/v1/sessions/ses_1", "Bearer one"],
      ["/bailiff/v1/sessions/ses_1", "Bearer two"],
    ]);
  });

  it("imports nothing at run time but its own files", () => {
    const folder = new URL("../../../src/client/", import.meta.url);
    const files = readdirSync(folder).filter((name) => name.endsWith(".ts"));
    expect(files.length).toBeGreaterThan(10);
    for (const file of files) {
      const { outputText } = ts.transpileModule(readFileSync(new URL(file, folder), "utf8"), {
        compilerOptions: {
          module: ts.ModuleKind.ESNext,
          target: ts.ScriptTarget.ES2023,
          verbatimModuleSyntax: true,
        },
      });
      const imported = [...outputText.matchAll(/(?:from|import)\s*\(?"([^"]+)"/g)].map(([, name]) => name);
      expect(
        imported.filter((name) => !/^\.\/[a-z-]+\.js$/.test(name ?? "")),
        file,
      ).toEqual([]);
      expect(outputText, file).not.toMatch(/\bprocess\.|\bBuffer\b|\brequire\(/);
    }
  });
});
