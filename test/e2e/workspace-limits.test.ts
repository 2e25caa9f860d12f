import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  type Agent,
  type BailiffProcess,
  createInstallation,
  type Installation,
  openAgent,
} from "../support/bailiff.js";
import { type RedisServer, startRedisServer } from "../support/redis-server.js";
import { type RawEntry, rawTar } from "../support/tar-bytes.js";

const LIMITS = { workspace_bytes: 1_048_576, workspace_inodes: 100 };

let redis: RedisServer;
let installation: Installation;
let api: BailiffProcess;
let agent: Agent;

beforeAll(async () => {
  redis = await startRedisServer();
  installation = await createInstallation({ redis: { url: redis.url }, limits: LIMITS });
  api = await installation.start("api");
  agent = await openAgent(installation, api);
});
afterAll(async () => {
  await installation?.remove();
  await redis?.stop();
});

async function put(...entries: readonly RawEntry[]) {
  const response = await fetch(`${api.url}/v1/workspaces/main/archive`, {
    method: "PUT",
    headers: { authorization: `Bearer ${agent.key}`, "content-type": "application/x-tar" },
    body: rawTar(...entries),
  });
  return {
    status: response.status,
    type: response.headers.get("content-type"),
    body: (await response.json()) as Record<string, unknown>,
  };
}

test.each<[string, string, RawEntry[]]>([
  ["workspace_bytes", "1048576 bytes", [{ name: "new/large", body: Buffer.alloc(2_000_000, "x") }]],
  [
    "workspace_inodes",
    "100 files, links and directories",
    Array.from({ length: 130 }, (_, at) => ({ name: `new/${at}`, body: "x" })),
  ],
])(
  "an archive with which a workspace would pass limits.%s is a 413 problem that names it, and leaves nothing behind",
  async (limit, bound, entries) => {
    await mkdir(join(agent.directory, "own"), { recursive: true });
    await writeFile(join(agent.directory, "own", "kept"), "as it was");
    const refused = await put({ name: "own/kept", body: "changed" }, ...entries);
    expect(refused).toMatchObject({
      status: 413,
      type: expect.stringContaining("application/problem+json"),
      body: {
        code: "payload_too_large",
        status: 413,
        detail: `with it the workspace would pass limits.${limit} (${bound})`,
      },
    });
    expect((await readdir(agent.directory, { recursive: true })).sort()).toEqual(["own", "own/kept"]);
    expect(await readFile(join(agent.directory, "own", "kept"), "utf8")).toBe("as it was");
    expect(await readdir(join(installation.workspacesRoot, ".incoming"))).toEqual([]);
    // The same caller goes on with one that fits.
    const taken = await put({ name: "own/kept", body: "as it was" });
    expect([taken.status, taken.body]).toEqual([200, { entries: 2, bytes: 9 }]);
  },
);
