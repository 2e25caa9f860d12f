import { constants } from "node:fs";
import { access, statfs } from "node:fs/promises";
import { dirname } from "node:path";
import { readKeysFile } from "../adapters/auth/keys-file.js";
import { createPolicyFileSource } from "../adapters/policy-file/policy-file-source.js";
import { openRedisStores } from "../adapters/redis/redis-stores.js";
import { createRandomIdSource } from "../adapters/system/random-id-source.js";
import { createSystemClock } from "../adapters/system/system-clock.js";
import { checkWorkspacesRoot } from "../adapters/workspace-fs/workspaces-root.js";
import { listProfiles } from "../app/decide/profile-catalog.js";
import type { CheckResult, DoctorCheck } from "../cli/doctor-command.js";
import type { Config } from "../config/config.js";
import type { CompiledPolicy } from "../domain/policy/compiled-policy.js";
import type { Log, Metrics } from "../ports/telemetry.js";
import { initPathOf, openEngine } from "./engine.js";
import { policyPaths } from "./foundation.js";
import { readConfig } from "./read-config.js";
import { readRedisEndpoint } from "./redis-endpoint.js";
import { describeQuota, openWorkspaceQuota } from "./workspace-quota.js";

const MIN_FREE_BYTES = 2 << 30;

const ok = (detail: string): CheckResult => ({ status: "ok", detail, fix: null });
const fail = (detail: string, fix: string): CheckResult => ({ status: "fail", detail, fix });
const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

const silent: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => silent,
};
const uncounted: Metrics = { count: () => undefined, observe: () => undefined, gauge: () => undefined };

async function checkRedisProgram(): Promise<CheckResult> {
  const directories = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];
  for (const directory of directories) {
    const path = `${directory}/redis-server`;
    const isThere = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isThere) return ok(`none configured: \`bailiff all\` starts ${path}`);
  }
  return fail("none configured, and no redis-server to start", "install redis-server, or set redis.url");
}

async function checkRedis(config: Config): Promise<CheckResult> {
  if (config.redis.url === null) return checkRedisProgram();
  const warnings: string[] = [];
  try {
    const stores = await openRedisStores({
      endpoint: readRedisEndpoint(config, config.redis.url),
      deployment: config.deployment,
      retention: { resultTtlMs: config.limits.resultTtlMs, idempotencyTtlMs: config.limits.resultTtlMs },
      clock: createSystemClock(),
      log: keepWarnings(warnings),
    });
    await stores.close();
    const [warning] = warnings;
    if (warning !== undefined) return { status: "warn", detail: warning, fix: "set appendonly yes" };
    return ok("answers, never evicts, and keeps its data");
  } catch (error) {
    return fail(
      messageOf(error),
      "check redis.url and redis.tls, start Redis, and set maxmemory-policy noeviction",
    );
  }
}

/** The policy that a process would start with. */
async function loadedPolicy(config: Config): Promise<CompiledPolicy> {
  const source = await createPolicyFileSource({
    paths: policyPaths(config),
    intervalMs: 60_000,
    log: silent,
    metrics: uncounted,
  });
  await source.close();
  return source.current();
}

async function checkPolicy(config: Config): Promise<CheckResult> {
  const { version, document } = await loadedPolicy(config);
  return ok(`${document.rules.length} rules, version ${version.slice(0, 12)}`);
}

async function checkEngine(config: Config): Promise<CheckResult> {
  const profiles = listProfiles(await loadedPolicy(config), config.images);
  if (profiles.length === 0) {
    return fail("no profile has an image", "set images: a profile's name and its image's sha256 digest");
  }
  const clock = createSystemClock();
  const workerId = createRandomIdSource(clock).next("wrk");
  const runtime = openEngine(config, { workerId, clock, log: silent, metrics: uncounted });
  try {
    const { problems, warnings, engineVersion, apiVersion } = await runtime.probe(
      profiles,
      config.workspaces.root,
    );
    if (problems.length > 0)
      return fail(problems.join("; "), "docs/configuration.md says what the engine must offer");
    if (warnings.length > 0) {
      const fix = "docs/isolation.md says which OCI runtimes enforce limits";
      return { status: "warn", detail: warnings.join("; "), fix };
    }
    return ok(
      `version ${engineVersion}, API ${apiVersion}: enforces every limit, sees the workspaces, has ${profiles.length} profile image(s)`,
    );
  } finally {
    await runtime.close();
  }
}

/** Warnings of the start check, kept to be shown. */
function keepWarnings(warnings: string[]): Log {
  return {
    ...silent,
    warn: (_fields, message) => void warnings.push(message),
    child: () => keepWarnings(warnings),
  };
}

async function checkInit(config: Config): Promise<CheckResult> {
  const path = initPathOf(config);
  try {
    await access(path, constants.X_OK);
  } catch {
    return fail(`${path} is missing or not executable`, "run `make -C images/init`, or set init_path");
  }
  return ok(path);
}

async function checkKeys(config: Config): Promise<CheckResult> {
  const isThere = await access(config.auth.keysFile).then(
    () => true,
    () => false,
  );
  const keys = isThere ? await readKeysFile(config.auth.keysFile) : [];
  if (keys.length > 0 || config.auth.jwt !== null) return ok(`${keys.length} key(s)`);
  return { status: "warn", detail: "no key yet, so nobody can call the API", fix: "bailiff keys create" };
}

/** The path, or the nearest directory above it that is there: they will be on the same disk. */
async function existingPart(path: string): Promise<string> {
  const isThere = await access(path).then(
    () => true,
    () => false,
  );
  const parent = dirname(path);
  return isThere || parent === path ? path : existingPart(parent);
}

async function checkDisk(config: Config): Promise<CheckResult> {
  const { bavail, bsize } = await statfs(await existingPart(config.workspaces.root));
  const freeBytes = bavail * bsize;
  const text = `${(freeBytes / 2 ** 30).toFixed(1)} GiB free on the disk of the workspaces root`;
  if (freeBytes >= MIN_FREE_BYTES) return ok(text);
  return { status: "warn", detail: text, fix: "free some: commands write into their workspaces" };
}

async function checkQuota(config: Config): Promise<CheckResult> {
  const { tried } = await openWorkspaceQuota(config);
  if (tried.held || config.workspaces.quota !== "required") return ok(describeQuota(tried));
  return fail(`required, but ${tried.reason}`, "docs/isolation.md says what a project quota needs");
}

/** What `bailiff doctor` looks at, for one configuration. A configuration that does not load is the only check. */
export async function doctorChecks(configPath: string | null): Promise<readonly DoctorCheck[]> {
  const node: DoctorCheck = {
    name: "node",
    run: async () => {
      const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
      const isFit = major > 20 || (major === 20 && minor >= 19);
      return isFit ? ok(process.version) : fail(process.version, "install Node.js 20.19 or newer");
    },
  };
  let config: Config;
  try {
    config = readConfig(configPath);
  } catch (error) {
    return [
      node,
      { name: "config", run: async () => fail(messageOf(error), "correct the configuration file") },
    ];
  }
  const { root, runnerUid: uid, runnerGid: gid } = config.workspaces;
  return [
    node,
    { name: "config", run: async () => ok(`deployment ${config.deployment}`) },
    { name: "keys", run: () => checkKeys(config) },
    { name: "bailiff-init", run: () => checkInit(config) },
    { name: "policy", run: () => checkPolicy(config) },
    {
      name: "workspaces",
      run: async () => {
        try {
          await checkWorkspacesRoot(root, { uid, gid });
        } catch (error) {
          return fail(
            messageOf(error),
            "give workspaces.root a directory of this user that others can't write",
          );
        }
        return ok(root);
      },
    },
    { name: "disk", run: () => checkDisk(config) },
    { name: "quota", run: () => checkQuota(config) },
    { name: "redis", run: () => checkRedis(config) },
    { name: "engine", run: () => checkEngine(config) },
  ];
}
