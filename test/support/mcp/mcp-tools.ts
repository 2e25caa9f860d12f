import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { installPinnedTools } from "../pinned-tools.js";

const run = promisify(execFile);
const PINNED = fileURLToPath(new URL("./tools", import.meta.url));
const RUN_LIMIT_MS = 120_000;

/** How a program of the official tools ended. */
export interface ToolRun {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The official MCP programs, in their own folder and with the Node.js they need. */
export interface McpTools {
  /** Runs one by the name of its binary. */
  run(name: "conformance" | "mcp-inspector", args: readonly string[]): Promise<ToolRun>;
  /** Makes `npx` of a shell run these, whatever it is asked for. The folder to put in front of the PATH. */
  shims(directory: string): Promise<string>;
}

/** Installs the pinned versions where they are not there yet, which takes about a minute. */
export async function installMcpTools(): Promise<McpTools> {
  const modules = await installPinnedTools("mcp-tools", PINNED);
  const node = join(modules, `node-linux-${process.arch}`, "bin", "node");
  return {
    async run(name, args) {
      const options = { timeout: RUN_LIMIT_MS, maxBuffer: 1 << 26 };
      try {
        return { code: 0, ...(await run(node, [join(modules, ".bin", name), ...args], options)) };
      } catch (error) {
        const failed = error as { code?: unknown; stdout?: string; stderr?: string };
        if (typeof failed.code !== "number") throw error;
        return { code: failed.code, stdout: failed.stdout ?? "", stderr: failed.stderr ?? "" };
      }
    },
    async shims(directory) {
      const shim = `#!/bin/sh\nshift\nexec '${node}' '${join(modules, ".bin", "mcp-inspector")}' "$@"\n`;
      await writeFile(join(directory, "npx"), shim, { mode: 0o755 });
      return directory;
    },
  };
}
