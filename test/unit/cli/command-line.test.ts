import { describe, expect, it } from "vitest";
import { type CliCall, type CliCommand, UsageError } from "../../../src/cli/cli-command.js";
import { runCommandLine } from "../../../src/cli/command-line.js";
import { parseDurationMs } from "../../../src/cli/duration.js";
import { createServeCommand } from "../../../src/cli/serve-command.js";
import { escapeForTerminal } from "../../../src/cli/terminal-text.js";
import { createCliWorld } from "../../support/cli-world.js";

function command(name: string, more: Partial<CliCommand> = {}): CliCommand & { calls: CliCall[] } {
  const calls: CliCall[] = [];
  return {
    name,
    summary: `Does ${name}.`,
    operands: null,
    operandsAfterDashes: false,
    options: { file: { value: "FILE", summary: "A file." }, json: { value: null, summary: "JSON." } },
    statuses: [[7, "Seven."]],
    run: async (call) => {
      calls.push(call);
      return 7;
    },
    ...more,
    calls,
  };
}

async function line(
  args: string[],
  commands: CliCommand[] = [command("doctor"), command("keys create"), command("keys list")],
) {
  const world = createCliWorld();
  const status = await runCommandLine({ commands, version: "1.2.3", args, world });
  return { status, out: world.out(), err: world.err() };
}

describe("the command line", () => {
  it("passes options, switches and operands to the command and its status back", async () => {
    const doctor = command("doctor", { operands: "X" });
    expect((await line(["doctor", "--file", "f", "--json", "a", "--", "--b"], [doctor])).status).toBe(7);
    expect(doctor.calls[0]).toMatchObject({
      values: { file: "f" },
      switches: new Set(["json"]),
      operands: ["a", "--b"],
    });
  });

  it("finds commands of two words", async () => {
    const create = command("keys create");
    await line(["keys", "create", "--file=f"], [command("keys list"), create]);
    expect(create.calls[0]?.values).toEqual({ file: "f" });
  });

  it.each([
    [["--version"], "1.2.3\n"],
    [["--help"], /^Usage: bailiff COMMAND[\s\S]*doctor {7}Does doctor\.[\s\S]*keys create/],
    [["-h"], /^Usage: bailiff COMMAND/],
    [["help"], /^Usage: bailiff COMMAND/],
    [
      ["doctor", "--help"],
      /^Usage: bailiff doctor \[OPTIONS\]\n\nDoes doctor\.[\s\S]*--file FILE {2}A file\.[\s\S]*7 {2}Seven\./,
    ],
    [["doctor", "--json", "-h"], /^Usage: bailiff doctor/],
    [["help", "keys", "list"], /^Usage: bailiff keys list/],
  ] as const)("answers %j on standard output with 0", async (args, text) => {
    const { status, out, err } = await line([...args]);
    expect({ status, err }).toEqual({ status: 0, err: "" });
    expect(out).toMatch(text);
  });

  it.each([
    [[], /Usage: bailiff COMMAND/],
    [["nonsense"], /there is no command "nonsense"/],
    [["keys"], /`keys` needs one more word: `bailiff keys create`, `bailiff keys list`/],
    [["doctor", "--nonsense"], /doctor: Unknown option '--nonsense'; `bailiff doctor --help` says how/],
    [["doctor", "-x"], /Unknown option '-x'/],
    [["doctor", "--file"], /'--file <value>' argument missing/],
    [["doctor", "--json=x"], /does not take an argument/],
    [["doctor", "--file", "a", "--file", "b"], /--file is given twice/],
    [["doctor", "operand"], /takes no operands, got "operand"/],
    [["doctor", "--", "operand"], /takes no operands/],
  ] as const)("refuses %j with 2 and a line on standard error", async (args, text) => {
    const { status, out, err } = await line([...args]);
    expect({ status, out }).toEqual({ status: 2, out: "" });
    expect(err).toMatch(text);
  });

  it("wants -- before operands that may look like options", async () => {
    const run = command("run", { operands: "ARGV...", operandsAfterDashes: true });
    const { status, err } = await line(["run", "ls"], [run]);
    expect(status).toBe(2);
    expect(err).toContain("put -- before the operands");
    await line(["run", "--json", "--", "ls", "--file", "--", "-h"], [run]);
    expect(run.calls[0]).toMatchObject({ operands: ["ls", "--file", "--", "-h"], values: {} });
  });

  it("ends with 1 and the message alone where a command fails, with 2 where it was called wrongly", async () => {
    const failing = (error: Error) => line(["x"], [command("x", { run: () => Promise.reject(error) })]);
    expect(await failing(new Error("no \u001b[2Jdisk"))).toEqual({
      status: 1,
      out: "",
      err: "bailiff: no \\u001b[2Jdisk\n",
    });
    expect((await failing(new UsageError("no"))).status).toBe(2);
  });

  it("hands a serving command its configuration file: the option, else the variable, else none", async () => {
    const seen: (string | null)[] = [];
    const serve = createServeCommand({ name: "api", summary: "s", start: async (path) => seen.push(path) });
    const run = (args: string[], env: Record<string, string>) =>
      runCommandLine({ commands: [serve], version: "1", args, world: createCliWorld({ env }) });
    await run(["api", "--config", "/a"], { BAILIFF_CONFIG: "/b" });
    await run(["api"], { BAILIFF_CONFIG: "/b" });
    await run(["api"], {});
    expect(seen).toEqual(["/a", "/b", null]);
  });
});

describe("text for a terminal", () => {
  it("keeps lines, tabs and letters and escapes everything that moves or reorders", () => {
    expect(escapeForTerminal("a\tb\nä🙂")).toBe("a\tb\nä🙂");
    expect(escapeForTerminal("\u001b[31m\r\u0007\u009b\u202e\u200b\u007f\0")).toBe(
      "\\u001b[31m\\u000d\\u0007\\u009b\\u202e\\u200b\\u007f\\u0000",
    );
  });
});

describe("a duration", () => {
  it("is whole seconds, minutes, hours or days", () => {
    expect(["90s", "5m", "12h", "30d"].map(parseDurationMs)).toEqual([
      90_000, 300_000, 43_200_000, 2_592_000_000,
    ]);
    for (const text of ["", "0d", "1", "1w", "-1d", "1.5h", "1 d", "9999999d"]) {
      expect(() => parseDurationMs(text), text).toThrow(UsageError);
    }
  });
});
