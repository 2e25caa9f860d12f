/**
 * `node prepare.mjs [--new-redis-password]`: makes what the services of a Compose installation expect to find, and
 * leaves what is there. Runs once as root, before the services, which have no rights:
 *
 * - the workspaces root, owned by the user that Bailiff and its commands run as
 * - bailiff-init, where the engine finds it
 * - a keys file without a key
 * - a password for Redis, as redis.conf for Redis and as redis-url for Bailiff
 */
import { randomBytes } from "node:crypto";
import {
  chmod,
  chown,
  copyFile,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
} from "node:fs/promises";
import { dirname } from "node:path";

const owner = 10001;
const shippedInit = "/opt/bailiff/images/init/build/bailiff-init";

try {
  await makeWorkspacesRoot(setting("BAILIFF_WORKSPACES_ROOT"));
  await installInit(setting("BAILIFF_INIT_PATH"));
  await makeKeysFile(`${setting("BAILIFF_DATA_DIR")}/keys.yaml`);
  await makePassword(setting("BAILIFF_REDIS_URL_FILE"), process.argv.includes("--new-redis-password"));
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}

function setting(name) {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set`);
  return value;
}

async function makeWorkspacesRoot(path) {
  await mkdir(path, { recursive: true, mode: 0o755 });
  const { uid } = await stat(path);
  if (uid === owner) return;
  // What lies in somebody else's directory is not ours to give away.
  if (uid !== 0 || (await readdir(path)).length > 0) {
    throw new Error(`${path} belongs to uid ${uid} and is in use: give Bailiff a directory of its own`);
  }
  await chmod(path, 0o755);
  await chown(path, owner, owner);
}

async function installInit(path) {
  await mkdir(dirname(path), { recursive: true, mode: 0o755 });
  // A container that runs keeps the file it started with: the new one takes its place by a rename.
  const next = `${path}.next`;
  await copyFile(shippedInit, next);
  await chmod(next, 0o755);
  await rename(next, path);
}

async function makeKeysFile(path) {
  if (await stat(path).catch(() => undefined)) return;
  await writeOwned(path, "version: 1\nkeys: []\n", 0o600);
}

async function makePassword(urlPath, isNewWanted) {
  const known = await readFile(urlPath, "utf8").catch((error) => {
    if (error.code !== "ENOENT") throw error;
    return "";
  });
  const password =
    (!isNewWanted && /^redis:\/\/:([0-9a-f]{64})@/.exec(known)?.[1]) || randomBytes(32).toString("hex");
  const directory = dirname(urlPath);
  const configuration = [
    "bind * -::*",
    "port 6379",
    "dir /data",
    "appendonly yes",
    "appendfsync everysec",
    "maxmemory-policy noeviction",
    `requirepass ${password}`,
    "",
  ].join("\n");
  await writeOwned(`${directory}/redis.conf`, configuration, 0o400);
  await writeOwned(`${directory}/redis-password`, password, 0o400);
  // Last, as it is what says that there is a password.
  await writeOwned(urlPath, `redis://:${password}@redis:6379/0`, 0o400);
}

async function writeOwned(path, text, mode) {
  const next = `${path}.next`;
  await rm(next, { force: true });
  await writeFile(next, text, { mode });
  await chown(next, owner, owner);
  await rename(next, path);
}
