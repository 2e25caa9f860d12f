import { describe, expect, it } from "vitest";
import { runCommandLine } from "../../../src/cli/command-line.js";
import { type CheckResult, createDoctorCommand, type DoctorCheck } from "../../../src/cli/doctor-command.js";
import { createCliWorld } from "../../support/cli-world.js";

const found = (name: string, status: CheckResult["status"], fix: string | null = null): DoctorCheck => ({
  name,
  run: async () => ({ status, detail: `${name} says so`, fix }),
});

async function doctor(checks: DoctorCheck[], ...args: string[]) {
  const world = createCliWorld();
  const command = createDoctorCommand({ checks: async () => checks, deadlineMs: 50 });
  const status = await runCommandLine({
    commands: [command],
    version: "1",
    args: ["doctor", ...args],
    world,
  });
  return { status, out: world.out() };
}

describe("bailiff doctor", () => {
  it("prints a line for each check in order, and the fix of what is not right", async () => {
    expect(
      await doctor([
        found("node", "ok", "never shown"),
        found("disk", "warn", "make room"),
        found("redis", "fail", "start it"),
      ]),
    ).toEqual({
      status: 1,
      out: [
        "ok    node: node says so",
        "warn  disk: disk says so",
        "      fix: make room",
        "FAIL  redis: redis says so",
        "      fix: start it",
        "",
      ].join("\n"),
    });
  });

  it("ends with 0 where nothing failed, warnings or not", async () => {
    expect((await doctor([found("node", "ok"), found("disk", "warn")])).status).toBe(0);
  });

  it("counts a check that throws or does not answer as failed and goes on", async () => {
    const { status, out } = await doctor([
      { name: "broken", run: () => Promise.reject(new Error("it \u001b[2J broke")) },
      { name: "stuck", run: () => new Promise(() => undefined) },
      found("after", "ok"),
    ]);
    expect(status).toBe(1);
    expect(out).toBe(
      "FAIL  broken: it \\u001b[2J broke\nFAIL  stuck: no answer within 0.05 s\nok    after: after says so\n",
    );
  });

  it("prints JSON when asked", async () => {
    const { status, out } = await doctor([found("node", "ok")], "--json");
    expect(status).toBe(0);
    expect(JSON.parse(out)).toEqual([{ name: "node", status: "ok", detail: "node says so", fix: null }]);
  });
});
