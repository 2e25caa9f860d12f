import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

const startScript = fileURLToPath(new URL("../../scripts/start.mjs", import.meta.url));

describe("npm start -- --once", () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "bailiff-start-"));
  });
  afterEach(async () => {
    await rm(directory, { recursive: true, force: true });
  });

  it("runs the main job through HTTP twice from one data directory, finds every answer as it must be, and ends", async () => {
    for (const _ of ["a new data directory", "the same one again"]) {
      const { status, printed } = await start(["--once", "--data-dir", directory]);
      expect(printed).toContain("Every answer is what it must be.");
      expect(printed).toContain("Stopped.");
      expect(status).toBe(0);
    }
  });

  it("refuses an option it doesn't know, and shows those it does", async () => {
    const { status, printed } = await start(["--onec"]);
    expect(status).toBe(1);
    expect(printed).toContain("Unknown option '--onec'");
    expect(printed).toContain("Usage: npm start");
  });
});

function start(args: readonly string[]): Promise<{ status: number | null; printed: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [startScript, ...args], { stdio: ["ignore", "pipe", "pipe"] });
    let printed = "";
    const keep = (chunk: Buffer) => {
      printed += chunk.toString("utf8");
    };
    child.stdout.on("data", keep);
    child.stderr.on("data", keep);
    child.on("error", reject);
    child.on("close", (status) => resolve({ status, printed }));
  });
}
