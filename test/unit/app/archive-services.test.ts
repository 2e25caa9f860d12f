import { setTimeout as pause } from "node:timers/promises";
import { expect, test } from "vitest";
import { createTenantSlots } from "../../../src/app/tenant-slots.js";
import { createArchiveServices } from "../../../src/app/workspaces/archive-services.js";
import type { Principal } from "../../../src/ports/authenticator.js";
import type { WorkspaceArchives } from "../../../src/ports/workspace-archives.js";
import type { WorkspaceStore } from "../../../src/ports/workspace-store.js";
import { silentLog, silentMetrics } from "../../support/silent-telemetry.js";

const principal: Principal = {
  id: "p",
  tenant: "acme",
  scopes: new Set(["workspaces:read"]),
  method: "api_key",
};
const calm = () => new AbortController().signal;

/** The services with one slot, over a workspace that always has more to send. */
function services(timeoutMs: number, onLookUp: () => void = () => undefined) {
  return createArchiveServices({
    archives: {
      send: async () =>
        (async function* () {
          for (;;) yield Buffer.alloc(512);
        })(),
    } as unknown as WorkspaceArchives,
    workspaces: {
      get: async () => {
        onLookUp();
        return {};
      },
    } as unknown as WorkspaceStore,
    limits: { maxBytes: 1, maxFileBytes: 1, maxEntries: 1, maxPathBytes: 1, maxDepth: 1 },
    timeoutMs,
    slots: createTenantSlots(
      { perProcess: 1, perTenant: 1, things: "transfers", quota: "transfers", gauge: "open" },
      silentMetrics,
    ),
    log: silentLog,
    metrics: silentMetrics,
  });
}

test("whoever leaves while an archive is looked up holds no slot", async () => {
  const leaver = new AbortController();
  const { sendArchive } = services(60_000, () => leaver.abort());
  await expect(sendArchive(principal, "w", leaver.signal)).rejects.toBe(leaver.signal.reason);
  await sendArchive(principal, "w", calm());
});

test("an archive that nobody reads on is over in time, and holds no slot then", async () => {
  const { sendArchive } = services(50);
  const { chunks, until } = await sendArchive(principal, "w", calm());
  const reading = chunks[Symbol.asyncIterator]();
  await reading.next();
  while (!until.aborted) await pause(10);
  await sendArchive(principal, "w", calm());
  await expect(reading.next()).rejects.toBe(until.reason);
});
