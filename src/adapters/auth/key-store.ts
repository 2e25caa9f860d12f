import type { Scope } from "../../ports/authenticator.js";
import type { Clock } from "../../ports/clock.js";
import type { IdSource } from "../../ports/id-source.js";
import { type ApiKeyRecord, createApiKey } from "./api-key.js";
import { addKey, disableKey, readKeysFile } from "./keys-file.js";

/** The keys file as its operator sees it. */
export interface KeyStore {
  /** Makes a key and writes its record. The text is returned once and kept nowhere. */
  create(wanted: {
    readonly tenant: string;
    readonly principal: string;
    readonly scopes: readonly Scope[];
    /** Null for a key that does not expire. */
    readonly expiresAtMs: number | null;
  }): Promise<{ id: string; text: string }>;
  /** Every record, disabled and expired ones too; none where there is no file yet. */
  list(): Promise<readonly ApiKeyRecord[]>;
  /** Disables a key for good. False where there is none of this id. */
  revoke(id: string): Promise<boolean>;
}

/** Keys in one file; each change replaces the file in one step. */
export function createKeyStore(deps: {
  readonly path: string;
  readonly ids: IdSource;
  readonly clock: Clock;
}): KeyStore {
  const list = async () => {
    try {
      return await readKeysFile(deps.path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
      throw error;
    }
  };
  return {
    async create(wanted) {
      const { text, record } = createApiKey({
        ...wanted,
        id: deps.ids.next("key"),
        nowMs: deps.clock.nowMs(),
      });
      await addKey(deps.path, record);
      return { id: record.id, text };
    },
    list,
    async revoke(id) {
      if ((await list()).every((record) => record.id !== id)) return false;
      return disableKey(deps.path, id);
    },
  };
}
