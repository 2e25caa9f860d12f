import { createApiKey } from "../adapters/auth/api-key.js";
import { addKey, disableKey, readKeysFile } from "../adapters/auth/keys-file.js";
import { createRandomIdSource } from "../adapters/system/random-id-source.js";
import { createSystemClock } from "../adapters/system/system-clock.js";
import type { KeysAccess } from "../cli/keys-commands.js";
import type { Scope } from "../ports/authenticator.js";
import { readConfig } from "./read-config.js";

/** The keys file for the keys commands: the one named, else the configured one. */
export async function openKeys(
  keysFile: string | null,
  configPath: string | null,
): Promise<KeysAccess<Scope>> {
  const path = keysFile ?? readConfig(configPath).auth.keysFile;
  const clock = createSystemClock();
  const ids = createRandomIdSource(clock);
  return {
    async create(wanted) {
      const { text, record } = createApiKey({ ...wanted, id: ids.next("key"), nowMs: clock.nowMs() });
      await addKey(path, record);
      return { id: record.id, text };
    },
    list: () => readKeysFile(path),
    revoke: (id) => disableKey(path, id),
  };
}
