import { join, sep } from "node:path";
import { LineCounter, parseDocument } from "yaml";
import type { z } from "zod";
import { limitContradictions, type ServiceLimits } from "../domain/limits.js";
import type { Config, TenantConfig } from "./config.js";
import { ConfigError, type ConfigProblem } from "./config-error.js";
import { type ConfigDocument, configSchema } from "./config-schema.js";
import { environmentOverrides, type Override } from "./environment-overrides.js";

/** What a configuration is made of. */
export interface ConfigSources {
  /** The process's environment, or a part of it. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** YAML or JSON; null where there is no file. */
  readonly fileText: string | null;
  /** For messages only. */
  readonly fileName: string;
  /** Reads the file a `_FILE` variable names; throws where it can't. */
  readonly readSecret: (path: string) => string;
}

type Tree = Record<string, unknown>;

const isTree = (value: unknown): value is Tree =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function holdsKey(value: unknown, key: string): boolean {
  if (typeof value !== "object" || value === null) return false;
  return Object.hasOwn(value, key) || Object.values(value).some((child) => holdsKey(child, key));
}

function readFile(text: string, fileName: string): { tree: Tree; problems: ConfigProblem[] } {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, stringKeys: true });
  const faults = [...document.errors, ...document.warnings];
  if (faults.length > 0) {
    return {
      tree: {},
      problems: faults.map((fault) => {
        const { line, col } = lines.linePos(fault.pos[0]);
        return { field: `${fileName}:${line}:${col}`, message: `is not valid YAML (${fault.code})` };
      }),
    };
  }
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: 100 });
  } catch {
    return { tree: {}, problems: [{ field: fileName, message: "has too many or unresolved aliases" }] };
  }
  // Records skip this key without a word, and nothing in a configuration may be ignored.
  if (holdsKey(value, "__proto__")) {
    return { tree: {}, problems: [{ field: fileName, message: "must not use __proto__ as a key" }] };
  }
  if (value === null || value === undefined) return { tree: {}, problems: [] };
  if (!isTree(value))
    return { tree: {}, problems: [{ field: fileName, message: "must be a mapping at the top" }] };
  return { tree: value, problems: [] };
}

/** A copy of the tree with the value at the path. A section that is not a mapping stays: the schema reports it. */
function withValue(tree: Tree, path: readonly string[], value: unknown): Tree {
  const [key, ...rest] = path;
  if (key === undefined) return tree;
  if (rest.length === 0) return { ...tree, [key]: value };
  const child = tree[key] ?? {};
  return isTree(child) ? { ...tree, [key]: withValue(child, rest, value) } : tree;
}

function messageOf(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case "invalid_type":
      return issue.input === undefined && issue.message.endsWith("received undefined")
        ? "is required"
        : `must be ${issue.expected === "int" ? "a whole number" : `of type ${issue.expected}`}`;
    case "too_big":
      return `must be at most ${issue.maximum}${lengthUnit(issue.origin)}`;
    case "too_small":
      return `must be at least ${issue.minimum}${lengthUnit(issue.origin)}`;
    case "invalid_value":
      return `must be one of ${issue.values.map(String).join(", ")}`;
    case "invalid_key":
      return issue.issues[0]?.message ?? "is not a valid name";
    default:
      return issue.message;
  }
}

const lengthUnit = (origin: string) =>
  origin === "string" ? " characters long" : origin === "array" ? " entries long" : "";

function schemaProblems(
  issues: readonly z.core.$ZodIssue[],
  overrides: readonly Override[],
): ConfigProblem[] {
  return issues.flatMap((issue): ConfigProblem[] => {
    const path = issue.path.map(String);
    const at = (more: readonly string[]) => [...path, ...more].join(".") || "(top)";
    if (issue.code === "unrecognized_keys") {
      return issue.keys.map((key) => ({ field: at([key]), message: "is not a known field" }));
    }
    const source = overrides.find((override) => override.path.every((part, i) => path[i] === part));
    return [{ field: at([]), message: messageOf(issue) + (source ? ` (set by ${source.variable})` : "") }];
  });
}

const snakeCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

function isInside(path: string, directory: string): boolean {
  return path === directory || path.startsWith(directory.endsWith(sep) ? directory : directory + sep);
}

function crossProblems(config: Config): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  const limitNames = new RegExp(`\\b(?:${Object.keys(config.limits).join("|")})\\b`, "g");
  for (const sentence of limitContradictions(config.limits)) {
    problems.push({
      field: "limits",
      message: sentence.replace(limitNames, (name) => `limits.${snakeCase(name)}`),
    });
  }
  const { url, clusterNodes, tls } = config.redis;
  if (clusterNodes.length > 0 && (url === null || !["", "/", "/0"].includes(new URL(url).pathname))) {
    problems.push({
      field: "redis.cluster_nodes",
      message: "needs redis.url, without a database: a Cluster has only database 0",
    });
  }
  // SAFETY: what is meant to be encrypted must not go out plainly for a letter that is missing.
  const isSecure = url !== null && new URL(url).protocol === "rediss:";
  if (!isSecure && Object.values(tls).some((file) => file !== null)) {
    problems.push({ field: "redis.tls", message: "needs a rediss:// URL" });
  }
  if ((tls.certFile === null) !== (tls.keyFile === null)) {
    problems.push({ field: "redis.tls", message: "needs both or neither of cert_file and key_file" });
  }
  const { jwt } = config.auth;
  if (jwt && (jwt.jwksUrl === null) === (jwt.jwksFile === null)) {
    problems.push({ field: "auth.jwt", message: "needs exactly one of jwks_url and jwks_file" });
  }
  // SAFETY: a command can write anywhere in its workspace, so nothing Bailiff trusts may be reachable there.
  const trusted: readonly (readonly [string, string | null])[] = [
    ["data_dir", config.dataDir],
    ["init_path", config.initPath],
    ["auth.keys_file", config.auth.keysFile],
    ["evidence.directory", config.evidence.directory],
    ["evidence.signing_key_file", config.evidence.signingKeyFile],
    ["auth.jwt.jwks_file", jwt?.jwksFile ?? null],
    ["redis.tls.ca_file", tls.caFile],
    ["redis.tls.cert_file", tls.certFile],
    ["redis.tls.key_file", tls.keyFile],
    ...config.policy.files.map((file, i) => [`policy.files.${i}`, file] as const),
  ];
  for (const [field, path] of trusted) {
    if (path !== null && isInside(path, config.workspaces.root)) {
      problems.push({ field, message: "must not be inside workspaces.root, where commands can write" });
    }
  }
  if (config.worker.shutdownGraceMs < config.limits.graceMs) {
    problems.push({ field: "worker.shutdown_grace_ms", message: "must be at least limits.grace_ms" });
  }
  if (config.worker.leaseMs < 3 * config.worker.heartbeatMs) {
    problems.push({ field: "worker.lease_ms", message: "must be at least three times worker.heartbeat_ms" });
  }
  if (new Set(config.worker.pools).size !== config.worker.pools.length) {
    problems.push({ field: "worker.pools", message: "must not name a pool twice" });
  }
  return problems;
}

function limitsOf(limits: ConfigDocument["limits"]): ServiceLimits {
  return {
    defaultTimeoutMs: limits.default_timeout_ms,
    hardTimeoutMs: limits.hard_timeout_ms,
    defaultCallChars: limits.default_call_chars,
    hardCallChars: limits.hard_call_chars,
    serviceChars: limits.service_chars,
    streamCaptureBytes: limits.stream_capture_bytes,
    streamHardBytes: limits.stream_hard_bytes,
    persistenceBytes: limits.persistence_bytes,
    requestBodyBytes: limits.request_body_bytes,
    graceMs: limits.grace_ms,
    approvalExpiryMs: limits.approval_expiry_ms,
    resultTtlMs: limits.result_ttl_ms,
    evidenceTtlMs: limits.evidence_ttl_ms,
    workspaceBytes: limits.workspace_bytes,
    workspaceInodes: limits.workspace_inodes,
  };
}

function tenantOf(
  quotas: ConfigDocument["quotas"],
  own: ConfigDocument["tenants"][string] | null,
): TenantConfig {
  const pick = (mine: number | null | undefined, general: number | null) =>
    mine === undefined ? general : mine;
  const ms = (seconds: number | null) => (seconds === null ? null : seconds * 1000);
  return {
    totalQueued: quotas.total_queued,
    tenantQueued: pick(own?.queued, quotas.queued),
    tenantConcurrent: pick(own?.concurrent, quotas.concurrent),
    sessionQueued: pick(own?.session_queued, quotas.session_queued),
    tenantRequestsPerMinute: pick(own?.requests_per_minute, quotas.requests_per_minute),
    tenantDispatchesPerDay: pick(own?.dispatches_per_day, quotas.dispatches_per_day),
    tenantWallMsPerDay: ms(pick(own?.wall_seconds_per_day, quotas.wall_seconds_per_day)),
    tenantCpuMsPerDay: ms(pick(own?.cpu_seconds_per_day, quotas.cpu_seconds_per_day)),
    tenantWeight: own?.weight ?? 1,
  };
}

function toConfig(document: ConfigDocument): Config {
  const { jwt } = document.auth;
  return {
    deployment: document.deployment,
    dataDir: document.data_dir,
    initPath: document.init_path,
    server: {
      host: document.server.host,
      port: document.server.port,
      publicMetrics: document.server.public_metrics,
      eventStreams: document.server.event_streams,
      tenantEventStreams: document.server.tenant_event_streams,
    },
    redis: {
      url: document.redis.url,
      clusterNodes: document.redis.cluster_nodes,
      waitReplicas: document.redis.wait_replicas,
      tls: {
        caFile: document.redis.tls.ca_file,
        certFile: document.redis.tls.cert_file,
        keyFile: document.redis.tls.key_file,
      },
    },
    workspaces: {
      root: document.workspaces.root ?? join(document.data_dir, "workspaces"),
      runnerUid: document.workspaces.runner_uid,
      runnerGid: document.workspaces.runner_gid,
      quota: document.workspaces.quota,
    },
    docker: { host: document.docker.host, callLimitMs: document.docker.call_limit_ms },
    worker: {
      concurrency: document.worker.concurrency,
      pools: document.worker.pools,
      shutdownGraceMs: document.worker.shutdown_grace_ms,
      leaseMs: document.worker.lease_ms,
      heartbeatMs: document.worker.heartbeat_ms,
      reconcileMs: document.worker.reconcile_ms,
      sweepMs: document.worker.sweep_ms,
      queueLockMs: document.worker.queue_lock_ms,
      probePort: document.worker.probe_port,
      warm: {
        maxContainers: document.worker.warm.max_containers,
        maxMemoryBytes: document.worker.warm.max_memory_bytes,
        maxAgeMs: document.worker.warm.max_age_ms,
        idleMs: document.worker.warm.idle_ms,
        offerMs: document.worker.warm.offer_ms,
      },
    },
    policy: { files: document.policy.files },
    images: document.images,
    environment: document.environment,
    limits: limitsOf(document.limits),
    defaultTenant: tenantOf(document.quotas, null),
    tenants: Object.fromEntries(
      Object.entries(document.tenants).map(([name, own]) => [name, tenantOf(document.quotas, own)]),
    ),
    auth: {
      keysFile: document.auth.keys_file ?? join(document.data_dir, "keys.yaml"),
      jwt: jwt && {
        issuer: jwt.issuer,
        audience: jwt.audience,
        jwksUrl: jwt.jwks_url,
        jwksFile: jwt.jwks_file,
        algorithms: jwt.algorithms,
        tenantClaim: jwt.tenant_claim,
        scopeClaim: jwt.scope_claim,
      },
    },
    approvals: { allowSelf: document.approvals.allow_self },
    webhooks: {
      secret: document.webhooks.secret,
      allowHttp: document.webhooks.allow_http,
      ports: document.webhooks.ports,
      allowAddresses: document.webhooks.allow_addresses,
      attempts: document.webhooks.attempts,
      retryMs: document.webhooks.retry_ms,
      timeoutMs: document.webhooks.timeout_ms,
    },
    archives: {
      maxBytes: document.archives.max_bytes,
      maxFileBytes: document.archives.max_file_bytes,
      maxEntries: document.archives.max_entries,
      maxPathBytes: document.archives.max_path_bytes,
      maxDepth: document.archives.max_depth,
      transfers: document.archives.transfers,
      tenantTransfers: document.archives.tenant_transfers,
      timeoutMs: document.archives.timeout_ms,
    },
    evidence: {
      argv: document.evidence.argv,
      output: document.evidence.output,
      secretOptions: document.evidence.secret_options,
      directory: document.evidence.directory ?? join(document.data_dir, "evidence"),
      signingKeyFile: document.evidence.signing_key_file,
      checkpointRecords: document.evidence.checkpoint_records,
      checkpointMs: document.evidence.checkpoint_ms,
      maxFileBytes: document.evidence.max_file_bytes,
    },
    log: { level: document.log.level },
    metrics: { process: document.metrics.process },
    telemetry: {
      otlpEndpoint: document.telemetry.otlp_endpoint,
      otlpAuthorization: document.telemetry.otlp_authorization,
      sampleRatio: document.telemetry.sample_ratio,
    },
  };
}

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const child of Object.values(value)) deepFreeze(child);
  }
  return value;
}

/** File, then environment over it, checked as a whole. Throws one ConfigError that lists everything wrong. */
export function loadConfig(sources: ConfigSources): Config {
  const file =
    sources.fileText === null ? { tree: {}, problems: [] } : readFile(sources.fileText, sources.fileName);
  const fromEnv = environmentOverrides(sources.env, sources.readSecret);
  const tree = fromEnv.overrides.reduce<Tree>(
    (held, { path, value }) => withValue(held, path, value),
    file.tree,
  );
  const parsed = configSchema.safeParse(tree);
  const problems = [...file.problems, ...fromEnv.problems];
  if (!parsed.success)
    throw new ConfigError([...problems, ...schemaProblems(parsed.error.issues, fromEnv.overrides)]);
  const config = toConfig(parsed.data);
  problems.push(...crossProblems(config));
  if (problems.length > 0) throw new ConfigError(problems);
  return deepFreeze(config);
}
