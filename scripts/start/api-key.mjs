import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { cliPath } from "../setup/build.mjs";
import { must } from "../setup/command.mjs";
import { SetupError } from "../setup/setup-error.mjs";

const keyText = /blf_(key_[0-9a-z]{26})_[A-Za-z0-9_-]{43}/;

/**
 * The API key of this data directory's demo tenant: the one made at an earlier start while the keys file still holds
 * it, else a new one. The service keeps only its hash, so the text is kept beside it, for this user's eyes alone.
 */
export async function createApiKey({ dataDirectory, configurationPath, tenant }) {
  const path = join(dataDirectory, "demo-key");
  const kept = keyText.exec(await readFile(path, "utf8").catch(() => ""));
  const known = await readFile(join(dataDirectory, "keys.yaml"), "utf8").catch(() => "");
  if (kept && known.includes(kept[1])) return kept[0];
  const printed = await must(
    process.execPath,
    [
      cliPath,
      "keys",
      "create",
      "--config",
      configurationPath,
      "--tenant",
      tenant,
      "--principal",
      "npm-start",
      "--scopes",
      "admin",
    ],
    { timeoutMs: 30_000 },
  );
  const made = keyText.exec(printed);
  if (!made) throw new SetupError("'bailiff keys create' printed no key.");
  await writeFile(path, `${made[0]}\n`, { mode: 0o600 });
  await chmod(path, 0o600);
  return made[0];
}
