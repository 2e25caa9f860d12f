import { readFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createApprovalsCommands } from "../../../src/cli/approvals-commands.js";
import { runCommandLine } from "../../../src/cli/command-line.js";
import { createCommandsCommands } from "../../../src/cli/commands-commands.js";
import { createSessionsCommands } from "../../../src/cli/sessions-commands.js";
import { createCliWorld } from "../../support/cli-world.js";
import { ASKED_ARGV0 } from "../../support/http/in-memory-services.js";
import { createTestApp, KEYS, type TestApp } from "../../support/http/test-app.js";

const page = readFileSync(new URL("../../../docs/approvals.md", import.meta.url), "utf8");

let edge: TestApp;
let url: string;
let approvalId: string;

beforeEach(async () => {
  edge = await createTestApp();
  url = await edge.app.listen({ host: "127.0.0.1", port: 0 });
  const session = await edge.openSession();
  const answer = await edge.call(KEYS.red, "POST", `/v1/sessions/${session}/commands`, {
    argv: [ASKED_ARGV0, "a\u202eb"],
  });
  approvalId = answer.json<{ approval_id: string }>().approval_id;
});
afterEach(() => edge.app.close());

async function bailiff(args: readonly string[], key: string = KEYS.admin) {
  const world = createCliWorld({ env: { BAILIFF_URL: url, BAILIFF_API_KEY: key } });
  const pause = async () => world.interrupt();
  const status = await runCommandLine({
    commands: [
      ...createApprovalsCommands({ fetch, pause }),
      ...createCommandsCommands({ fetch }),
      ...createSessionsCommands({ fetch }),
    ],
    version: "0",
    args,
    world,
  });
  return { status, out: world.out(), err: world.err() };
}

describe("the reviewer's command line", () => {
  it("does what docs/approvals.md shows", async () => {
    const lines = [...page.matchAll(/```sh\n([\s\S]*?)```/g)].flatMap(([, text = ""]) =>
      text.trim().split("\n"),
    );
    expect(lines.length).toBeGreaterThan(4);
    for (const line of lines) {
      const words = [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? "");
      const args = words.slice(1).map((word) => (word.startsWith("apr_") ? approvalId : word));
      const { status, err } = await bailiff(args);
      expect(status, `${line}: ${err}`).toBe(0);
    }
  });

  it("shows hostile argv escaped, and a decision only once", async () => {
    for (const args of [
      ["approvals", "ls"],
      ["approvals", "show", approvalId],
      ["approvals", "watch"],
    ]) {
      const { status, out } = await bailiff(args);
      expect([status, out.includes('["ask-me","a\\u202eb"]'), out.includes("\u202e")]).toEqual([
        0,
        true,
        false,
      ]);
    }
    expect(await bailiff(["approvals", "deny", approvalId])).toMatchObject({
      status: 0,
      out: `${approvalId} denied\n`,
    });
    expect((await bailiff(["approvals", "approve", approvalId])).status).toBe(4);
    expect((await bailiff(["approvals", "show", approvalId.replace(/.$/, "z")])).status).toBe(3);
    expect((await bailiff(["approvals", "ls"], KEYS.redReader)).status).toBe(5);
    expect((await bailiff(["approvals", "show", approvalId], KEYS.blue)).status).toBe(3);
    expect((await bailiff(["approvals", "show"])).status).toBe(2);
  });
});
