import { timingSafeEqual } from "node:crypto";
import type { Authenticator, Principal } from "../../ports/authenticator.js";
import type { Clock } from "../../ports/clock.js";
import type { Log } from "../../ports/telemetry.js";
import { hashKeyText, keyIdOf } from "./api-key.js";
import { type FileVersion, KeysFileFault, keysFileVersion, readKeysFile } from "./keys-file.js";

interface HeldKey {
  readonly hash: Buffer;
  readonly expiresAtMs: number | null;
  readonly disabled: boolean;
  readonly principal: Principal;
}

/** An authenticator for API keys that follows its file. */
export interface ApiKeys extends Authenticator {
  /** Why the newest file is not in force; null when it is. */
  problem(): string | null;
  /** Keys in force, also those disabled or expired. */
  size(): number;
}

/** Stands in for the key of an unknown id, so that a lookup takes the same comparison either way. */
const NO_KEY = Buffer.alloc(32);

async function load(path: string): Promise<ReadonlyMap<string, HeldKey>> {
  const keys = new Map<string, HeldKey>();
  for (const record of await readKeysFile(path)) {
    keys.set(record.id, {
      hash: Buffer.from(record.sha256, "hex"),
      expiresAtMs: record.expires_at === null ? null : Date.parse(record.expires_at),
      disabled: record.disabled,
      principal: {
        id: record.principal,
        tenant: record.tenant,
        scopes: new Set(record.scopes),
        method: "api_key",
      },
    });
  }
  return keys;
}

function sameVersion(a: FileVersion, b: FileVersion): boolean {
  return (
    a.inode === b.inode && a.size === b.size && a.modifiedNs === b.modifiedNs && a.changedNs === b.changedNs
  );
}

/**
 * API keys from a file. The file is looked at before every answer, so a revoked key stops working with the next
 * request; a bad file leaves the old keys in force and shows in `problem`. Rejects where the first read fails.
 */
export async function createApiKeys(deps: {
  readonly path: string;
  readonly clock: Clock;
  readonly log: Log;
}): Promise<ApiKeys> {
  let version = await keysFileVersion(deps.path);
  let keys = await load(deps.path);
  let problem: string | null = null;
  let reloading: Promise<void> | null = null;

  const reload = async () => {
    try {
      const seen = await keysFileVersion(deps.path);
      if (sameVersion(seen, version)) {
        problem = null;
        return;
      }
      // The version is taken before the read: a change in between is read again at the next answer.
      keys = await load(deps.path);
      version = seen;
      problem = null;
      deps.log.info({ keys: keys.size }, "keys file read again");
    } catch (error) {
      const reason = error instanceof KeysFileFault ? error.message : "the keys file can't be read";
      if (problem !== reason) deps.log.error({ reason }, "keys file not taken; the old keys stay in force");
      problem = reason;
    }
  };

  return {
    async authenticate(bearer) {
      reloading ??= reload().finally(() => {
        reloading = null;
      });
      await reloading;
      const id = keyIdOf(bearer);
      const key = id === null ? undefined : keys.get(id);
      const same = timingSafeEqual(hashKeyText(bearer), key?.hash ?? NO_KEY);
      if (!same || key === undefined || key.disabled) return null;
      if (key.expiresAtMs !== null && key.expiresAtMs <= deps.clock.nowMs()) return null;
      return key.principal;
    },
    problem: () => problem,
    size: () => keys.size,
  };
}
