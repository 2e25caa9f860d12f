import { isAbsolute, normalize } from "node:path";
import { z } from "zod";
import { ARGV_RECORDING, OUTPUT_RECORDING } from "../domain/evidence/evidence-of.js";
import { DEFAULT_SECRET_OPTIONS } from "../domain/evidence/redact-secrets.js";
import { NAME_PATTERN } from "../domain/ids.js";
import { DEFAULT_SERVICE_LIMITS } from "../domain/limits.js";
import { isAddressBlock } from "../domain/webhook/judge-address.js";
import { WORKSPACE_QUOTA_MODES } from "../domain/workspace-quota.js";

const DAY_MS = 24 * 3_600_000;
const MIB = 1 << 20;
const MAX_ID = 4_294_967_294;

/** Signature algorithms a token may use. `none` and the HMAC family are left out: with them a public key would be a secret. */
const JWT_ALGORITHMS = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
] as const;

const whole = (unit: string, min: number, max: number, fallback: number, reason: string) =>
  z.int().min(min).max(max).default(fallback).meta({ unit, description: reason });

const wholeOrNone = (unit: string, min: number, max: number, fallback: number | null, reason: string) =>
  z.int().min(min).max(max).nullable().default(fallback).meta({ unit, description: reason });

const optionalWhole = (unit: string, min: number, max: number, reason: string) =>
  z.int().min(min).max(max).nullable().optional().meta({ unit, description: reason });

const isCleanPath = (path: string) =>
  isAbsolute(path) &&
  normalize(path) === path &&
  !path.includes("\0") &&
  (path === "/" || !path.endsWith("/"));

const absolutePath = z
  .string()
  .refine(isCleanPath, "must be an absolute path without `..`, `//` or a trailing `/`");

const name = z
  .string()
  .regex(NAME_PATTERN, "must be 1 to 63 of a-z, 0-9, _ and -, starting with a letter or digit");

const isLoopback = (host: string) =>
  host === "localhost" || host === "[::1]" || /^127(?:\.\d{1,3}){3}$/.test(host);

function isRedisUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, pathname, search, hash, username, password } = new URL(text);
  try {
    decodeURIComponent(username + password);
  } catch {
    return false;
  }
  const isRedis = protocol === "redis:" || protocol === "rediss:";
  return isRedis && hostname !== "" && /^(?:\/[0-9]{0,5})?$/.test(pathname) && search === "" && hash === "";
}

function isKeySetUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname } = new URL(text);
  return protocol === "https:" || (protocol === "http:" && isLoopback(hostname));
}

function isCollectorUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password, search, hash } = new URL(text);
  return (protocol === "http:" || protocol === "https:") && username + password + search + hash === "";
}

const isEngineHost = (text: string) =>
  text.startsWith("unix://") && isCleanPath(text.slice("unix://".length));

const server = z.strictObject({
  host: z
    .string()
    .min(1)
    .max(255)
    .default("127.0.0.1")
    .meta({ unit: "address", description: "Loopback until someone decides who may reach the API." }),
  port: whole("TCP port", 0, 65_535, 8080, "0 takes a free port; the start-up log says which."),
  public_metrics: z
    .boolean()
    .default(false)
    .meta({ description: "Serve `/metrics` without a credential, for scrapers that have none." }),
  event_streams: whole(
    "streams",
    1,
    100_000,
    1_000,
    "Event streams open at once in one process; each holds a socket.",
  ),
  tenant_event_streams: whole("streams", 1, 100_000, 100, "Of those, how many one tenant may hold."),
});

/** `host:port`, an IPv6 host in brackets. */
function isNode(text: string): boolean {
  const port = /^(?:[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\]):([1-9][0-9]{0,4})$/.exec(text)?.[1];
  return port !== undefined && Number(port) <= 65_535;
}

const pemPath = (description: string) =>
  absolutePath
    .nullable()
    .default(null)
    .meta({ unit: "path", description: `${description} PEM; for rediss:// alone, read at the start.` });

const redis = z.strictObject({
  url: z
    .string()
    .refine(isRedisUrl, "must be a redis:// or rediss:// URL, without options")
    .nullable()
    .default(null)
    .meta({
      unit: "URL",
      secret: true,
      description: "Null starts a private redis-server child, which only `bailiff all` can do.",
    }),
  cluster_nodes: z.array(z.string().refine(isNode, "must be host:port")).max(100).default([]).meta({
    unit: "host:port",
    description:
      "More nodes of the Redis Cluster that `redis.url` is one of; empty where it is none. The others are found by them.",
  }),
  wait_replicas: whole(
    "replicas",
    0,
    10,
    0,
    "How many replicas have to have a claim before its argv is sent, so that a failover to one of them loses none. 0 waits for none.",
  ),
  tls: z
    .strictObject({
      ca_file: pemPath("The authorities that its certificate may come from, in place of the system's."),
      cert_file: pemPath("What this process proves itself with, where Redis asks for a certificate."),
      key_file: pemPath("The key of that certificate."),
    })
    .prefault({})
    .meta({ description: "How Redis and this process prove themselves to each other." }),
});

const workspaces = z.strictObject({
  root: absolutePath.nullable().default(null).meta({
    unit: "path",
    description:
      "Where workspaces live, the same path for API, worker and engine. Null means `workspaces` under `data_dir`.",
  }),
  runner_uid: whole(
    "uid",
    1,
    MAX_ID,
    10_001,
    "Owner of new workspaces and so the uid of their commands; never 0.",
  ),
  runner_gid: whole("gid", 1, MAX_ID, 10_001, "Group of new workspaces; never 0."),
  quota: z.enum(WORKSPACE_QUOTA_MODES).default("auto").meta({
    description:
      "Whether the file system's project quota holds workspaces to their limits too: `auto`, where it can; `required`, or no worker starts; `off`. `isolation.md` says what it needs.",
  }),
});

const docker = z.strictObject({
  host: z
    .string()
    .refine(isEngineHost, "must be unix:///absolute/path")
    .default("unix:///var/run/docker.sock")
    .meta({
      unit: "URL",
      description: "The engine's Unix socket. Who can reach it is root on its host, so there is no TCP.",
    }),
  call_limit_ms: whole(
    "ms",
    200,
    120_000,
    20_000,
    "No engine call is waited for longer; most have a shorter bound of their own.",
  ),
});

const warm = z.strictObject({
  max_containers: whole(
    "containers",
    0,
    1_024,
    8,
    "Containers that wait, ready, for a command of their workspace and profile; each costs the host a few MiB. 0 makes none ahead.",
  ),
  max_memory_bytes: whole(
    "bytes",
    0,
    2 ** 50,
    4096 * MIB,
    "Bound on the memory limits of all that wait, together: what they could use once their commands come.",
  ),
  max_age_ms: whole("ms", 1_000, DAY_MS, 600_000, "One that has waited for longer is replaced."),
  idle_ms: whole(
    "ms",
    1_000,
    DAY_MS,
    300_000,
    "Without a command for this long, a workspace and profile has none waiting.",
  ),
  offer_ms: whole(
    "ms",
    0,
    1_000,
    50,
    "A worker that would have to make a container offers the command to one that has it waiting, and waits for its answer for at most this long. 0 offers nothing.",
  ),
});

const worker = z.strictObject({
  concurrency: whole("commands", 1, 256, 4, "Commands one worker runs at once."),
  pools: z
    .array(name)
    .min(1)
    .max(32)
    .default(["default"])
    .meta({ unit: "names", description: "Queues this worker takes from." }),
  shutdown_grace_ms: whole(
    "ms",
    0,
    DAY_MS,
    25_000,
    "How long SIGTERM lets running commands finish before they are killed; below the 30 s most supervisors allow.",
  ),
  lease_ms: whole(
    "ms",
    1_000,
    600_000,
    15_000,
    "A worker that has not renewed its lease for this long takes no command, and may be declared dead.",
  ),
  heartbeat_ms: whole(
    "ms",
    100,
    60_000,
    4_000,
    "How often the lease is renewed. A peer is dead when it held no lease over three renewals of one's own.",
  ),
  reconcile_ms: whole("ms", 100, 600_000, 5_000, "How often the commands of dead workers are looked for."),
  sweep_ms: whole("ms", 100, 3_600_000, 20_000, "How often containers that nobody holds are removed."),
  probe_port: z.int().min(0).max(65_535).nullable().default(null).meta({
    unit: "TCP port",
    description:
      "Where `bailiff worker` serves `/healthz`, `/readyz` and `/metrics`, without a credential, on `server.host`. Null serves none; 0 takes a free port.",
  }),
  queue_lock_ms: whole(
    "ms",
    1_000,
    600_000,
    30_000,
    "A queue entry whose worker is silent for this long is handed out again; harmless, as the claim decides.",
  ),
  warm: warm.prefault({}).meta({ description: "Containers made before their command." }),
});

const policy = z.strictObject({
  files: z
    .array(absolutePath)
    .max(16)
    .default([])
    .meta({ unit: "paths", description: "Policy documents. Empty means the default policy that ships." }),
});

const images = z
  .record(
    name,
    z
      .string()
      .regex(
        /^(?:[a-z0-9][a-z0-9._/:-]{0,254}@)?sha256:[0-9a-f]{64}$/,
        "must be pinned by digest: sha256:<64 hex> or name@sha256:<64 hex>",
      ),
  )
  .default({})
  .meta({
    unit: "profile = digest",
    description:
      "Image of a profile, in place of the policy's: the digest of an image built here is only known after set-up.",
  });

const limits = z.strictObject({
  default_timeout_ms: whole(
    "ms",
    1,
    DAY_MS,
    DEFAULT_SERVICE_LIMITS.defaultTimeoutMs,
    "Timeout of a command that names none.",
  ),
  hard_timeout_ms: whole(
    "ms",
    1,
    DAY_MS,
    DEFAULT_SERVICE_LIMITS.hardTimeoutMs,
    "The longest timeout a command may ask for.",
  ),
  default_call_chars: whole(
    "code points",
    1,
    16 * MIB,
    DEFAULT_SERVICE_LIMITS.defaultCallChars,
    "Cap of each stream where a command names none; about what a model reads.",
  ),
  hard_call_chars: whole(
    "code points",
    1,
    16 * MIB,
    DEFAULT_SERVICE_LIMITS.hardCallChars,
    "The highest cap a command may ask for.",
  ),
  service_chars: whole(
    "code points",
    1,
    16 * MIB,
    DEFAULT_SERVICE_LIMITS.serviceChars,
    "Cap of the service on each stream, before the command's own.",
  ),
  stream_capture_bytes: whole(
    "bytes",
    1,
    64 * MIB,
    DEFAULT_SERVICE_LIMITS.streamCaptureBytes,
    "Kept of each stream; the rest is counted and dropped.",
  ),
  stream_hard_bytes: whole(
    "bytes",
    1,
    1024 * MIB,
    DEFAULT_SERVICE_LIMITS.streamHardBytes,
    "A stream that passes it ends its command.",
  ),
  persistence_bytes: whole(
    "bytes",
    1024,
    16 * MIB,
    DEFAULT_SERVICE_LIMITS.persistenceBytes,
    "Largest result kept, as UTF-8 JSON; above it the text is omitted and the hashes stay.",
  ),
  request_body_bytes: whole(
    "bytes",
    1024,
    64 * MIB,
    DEFAULT_SERVICE_LIMITS.requestBodyBytes,
    "Largest request body; above the 1 MiB of an argv, which JSON may escape.",
  ),
  grace_ms: whole(
    "ms",
    100,
    60_000,
    DEFAULT_SERVICE_LIMITS.graceMs,
    "For the kill and the report after a timeout; later counts as lost.",
  ),
  approval_expiry_ms: whole(
    "ms",
    1000,
    7 * DAY_MS,
    DEFAULT_SERVICE_LIMITS.approvalExpiryMs,
    "How long a command waits for a human, and then in the queue.",
  ),
  result_ttl_ms: whole(
    "ms",
    60_000,
    30 * DAY_MS,
    DEFAULT_SERVICE_LIMITS.resultTtlMs,
    "How long a result can be fetched.",
  ),
  evidence_ttl_ms: whole(
    "ms",
    60_000,
    3650 * DAY_MS,
    DEFAULT_SERVICE_LIMITS.evidenceTtlMs,
    "How long evidence is kept.",
  ),
  workspace_bytes: whole(
    "bytes",
    MIB,
    2 ** 50,
    DEFAULT_SERVICE_LIMITS.workspaceBytes,
    "What one workspace may occupy. A command that makes it larger is ended; `isolation.md` says how soon.",
  ),
  workspace_inodes: whole(
    "entries",
    100,
    100_000_000,
    DEFAULT_SERVICE_LIMITS.workspaceInodes,
    "How many files, directories and links one workspace may hold.",
  ),
});

const jwt = z.strictObject({
  issuer: z.string().min(1).max(2048).meta({ unit: "text", description: "The `iss` a token must carry." }),
  audience: z.string().min(1).max(2048).meta({ unit: "text", description: "The `aud` a token must carry." }),
  jwks_url: z
    .string()
    .refine(isKeySetUrl, "must be an https URL (http on loopback only)")
    .nullable()
    .default(null)
    .meta({ unit: "URL", description: "Where the issuer publishes its public keys." }),
  jwks_file: absolutePath
    .nullable()
    .default(null)
    .meta({ unit: "path", description: "The issuer's public keys as a file, in place of `jwks_url`." }),
  algorithms: z
    .array(z.enum(JWT_ALGORITHMS))
    .min(1)
    .default(["RS256", "ES256", "EdDSA"])
    .meta({ unit: "names", description: "Signature algorithms accepted; `none` and HMAC can't be listed." }),
  tenant_claim: z
    .string()
    .min(1)
    .max(256)
    .default("tenant")
    .meta({ unit: "claim", description: "The claim that names the tenant." }),
  scope_claim: z
    .string()
    .min(1)
    .max(256)
    .default("scope")
    .meta({ unit: "claim", description: "The claim that lists the scopes; unknown ones are ignored." }),
});

const auth = z.strictObject({
  keys_file: absolutePath.nullable().default(null).meta({
    unit: "path",
    description: "API keys, hashed. Null means `keys.yaml` under `data_dir`. Read again when it changes.",
  }),
  jwt: jwt.nullable().default(null).meta({ description: "Accept tokens of one issuer beside API keys." }),
});

const quotas = z.strictObject({
  total_queued: wholeOrNone(
    "commands",
    1,
    1_000_000,
    20_000,
    "Commands waiting in all tenants; bounds Redis's memory.",
  ),
  queued: wholeOrNone("commands", 1, 1_000_000, 10_000, "Commands one tenant may have waiting."),
  concurrent: wholeOrNone("commands", 1, 100_000, null, "Commands of one tenant that run at once."),
  session_queued: wholeOrNone(
    "commands",
    1,
    1_000_000,
    1000,
    "Commands one session may have waiting; an agent in a loop meets it first.",
  ),
  requests_per_minute: wholeOrNone("requests", 1, 1_000_000, null, "Submits of one tenant per minute."),
  dispatches_per_day: wholeOrNone(
    "commands",
    1,
    1_000_000_000,
    null,
    "Commands of one tenant per UTC day; one that provably never started does not count.",
  ),
  wall_seconds_per_day: wholeOrNone(
    "s",
    1,
    1_000_000_000,
    null,
    "Wall time of one tenant's commands per UTC day. A command holds its whole timeout until it ends.",
  ),
  cpu_seconds_per_day: wholeOrNone(
    "s",
    1,
    1_000_000_000,
    null,
    "CPU time of one tenant's commands per UTC day. A command holds its timeout times its CPUs until it ends.",
  ),
});

const tenants = z
  .record(
    name,
    z.strictObject({
      weight: z
        .number()
        .min(0.01)
        .max(100)
        .default(1)
        .meta({ unit: "share", description: "Share in fair queueing, relative to the other tenants." }),
      queued: optionalWhole("commands", 1, 1_000_000, "In place of `quotas.queued`."),
      concurrent: optionalWhole("commands", 1, 100_000, "In place of `quotas.concurrent`."),
      session_queued: optionalWhole("commands", 1, 1_000_000, "In place of `quotas.session_queued`."),
      requests_per_minute: optionalWhole(
        "requests",
        1,
        1_000_000,
        "In place of `quotas.requests_per_minute`.",
      ),
      dispatches_per_day: optionalWhole(
        "commands",
        1,
        1_000_000_000,
        "In place of `quotas.dispatches_per_day`.",
      ),
      wall_seconds_per_day: optionalWhole(
        "s",
        1,
        1_000_000_000,
        "In place of `quotas.wall_seconds_per_day`.",
      ),
      cpu_seconds_per_day: optionalWhole("s", 1, 1_000_000_000, "In place of `quotas.cpu_seconds_per_day`."),
    }),
  )
  .default({})
  .meta({ description: "Tenants that differ from the defaults. A tenant need not be listed." });

const approvals = z.strictObject({
  allow_self: z.boolean().default(false).meta({
    description: "Whether a principal may approve what it asked for itself. Leaves one pair of eyes of two.",
  }),
});

const webhooks = z.strictObject({
  secret: z.string().min(32, "must be at least 32 characters long").max(4096).nullable().default(null).meta({
    unit: "text",
    secret: true,
    description:
      "What the secret of each session's webhook is derived from; the same in every API process. Null: no webhooks.",
  }),
  allow_http: z.boolean().default(false).meta({
    description: "Also take http URLs. What is sent can then be read on the way.",
  }),
  ports: z
    .array(z.int().min(1).max(65_535))
    .min(1)
    .max(64)
    .default([443, 8443])
    .meta({ unit: "TCP ports", description: "Ports a webhook may use." }),
  allow_addresses: z
    .array(z.string().refine(isAddressBlock, "must be an IP address or a CIDR block"))
    .max(64)
    .default([])
    .meta({
      unit: "addresses",
      description:
        "Receivers inside: addresses and CIDR blocks that may be reached though they are not public.",
    }),
  attempts: whole(
    "attempts",
    1,
    50,
    12,
    "Attempts before a delivery is given up; it ends with the result's retention too.",
  ),
  retry_ms: whole(
    "ms",
    100,
    3_600_000,
    5_000,
    "Before the second attempt; doubles with each, up to an hour, and half of it is random.",
  ),
  timeout_ms: whole(
    "ms",
    100,
    60_000,
    10_000,
    "For one attempt, from the name's resolution to the end of the answer.",
  ),
});

const archives = z.strictObject({
  max_bytes: whole(
    "bytes",
    1024,
    1024 * 1024 * MIB,
    1024 * MIB,
    "Largest archive received; it needs this much beside the workspaces until it is in place.",
  ),
  max_file_bytes: whole("bytes", 0, 1024 * 1024 * MIB, 512 * MIB, "Largest file in a received archive."),
  max_entries: whole(
    "entries",
    1,
    10_000_000,
    100_000,
    "Files, links and directories of a received archive; bounds what one call costs in inodes.",
  ),
  max_path_bytes: whole("bytes", 1, 4096, 1024, "Longest path in a received archive."),
  max_depth: whole("names", 1, 256, 64, "Deepest path of an archive; each level is an open directory."),
  transfers: whole("transfers", 1, 1000, 16, "Archives in and out at once in one process."),
  tenant_transfers: whole("transfers", 1, 1000, 4, "Of those, how many one tenant may have."),
  timeout_ms: whole("ms", 1000, DAY_MS, 900_000, "The longest that one transfer may take."),
});

const evidence = z.strictObject({
  argv: z.enum(ARGV_RECORDING).default("full").meta({
    description:
      "`full`: every token, without what looks like a secret. `redacted`: argv[0] alone. `hashed`: a keyed hash alone.",
  }),
  output: z.enum(OUTPUT_RECORDING).default("hashed").meta({
    description: "The SHA-256 of each stream beside its byte count, or the byte count alone; never the text.",
  }),
  secret_options: z
    .array(z.string().regex(/^-[^\s=,]{1,127}$/, "must be an option such as --password"))
    .max(256)
    .default([...DEFAULT_SECRET_OPTIONS])
    .meta({ unit: "options", description: "Options whose value is never recorded." }),
  directory: absolutePath.nullable().default(null).meta({
    unit: "path",
    description: "Where the append-only files are, one per tenant. Null means `evidence` under `data_dir`.",
  }),
  signing_key_file: absolutePath.nullable().default(null).meta({
    unit: "path",
    description:
      "The Ed25519 key, the same for every process of a deployment. Null means `evidence-key.pem` under `data_dir`, made at the first start.",
  }),
  checkpoint_records: whole(
    "records",
    1,
    1_000_000,
    100,
    "Records of a tenant after which its chain is signed.",
  ),
  checkpoint_ms: whole(
    "ms",
    100,
    DAY_MS,
    10_000,
    "The longest that a record stays unsigned; what is behind the last checkpoint could be cut off unseen.",
  ),
  max_file_bytes: whole(
    "bytes",
    MIB,
    1024 * 1024 * MIB,
    128 * MIB,
    "A tenant's file is ended before it grows past this, and the next one begun.",
  ),
});

const log = z.strictObject({
  level: z
    .enum(["debug", "info", "warn", "error", "silent"])
    .default("info")
    .meta({ description: "`debug` may show argv; the others never do." }),
});

const metrics = z.strictObject({
  process: z
    .boolean()
    .default(true)
    .meta({ description: "Also export the process's own numbers: memory, CPU, event loop." }),
});

const telemetry = z.strictObject({
  otlp_endpoint: z
    .string()
    .max(2048)
    .refine(isCollectorUrl, "must be an http:// or https:// URL without credentials, query or fragment")
    .nullable()
    .default(null)
    .meta({
      unit: "URL",
      description:
        "Where traces go by OTLP over HTTP, such as `http://collector:4318`; `/v1/traces` is appended. Null traces nothing.",
    }),
  otlp_authorization: z
    .string()
    .max(4_096, "must be 1 to 4096 printable ASCII characters")
    // No count in it: the chart's schema has it too, and Helm's expressions repeat nothing more than a thousand times.
    .regex(/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/, "must be 1 to 4096 printable ASCII characters")
    .nullable()
    .default(null)
    .meta({
      unit: "header",
      secret: true,
      description: "The `Authorization` header for the collector, such as `Bearer …`.",
    }),
  sample_ratio: z.number().min(0).max(1).default(1).meta({
    unit: "ratio",
    description:
      "Of the traces that begin here, how many are recorded. A caller's `traceparent` decides for its own.",
  }),
});

/** A configuration file. The single source of what is valid, of the defaults and of `docs/configuration.md`. */
export const configSchema = z.strictObject({
  deployment: name.default("default").meta({
    unit: "name",
    description: "Marks this deployment's containers and keys, so that two can share an engine or a Redis.",
  }),
  data_dir: absolutePath
    .default("/var/lib/bailiff")
    .meta({ unit: "path", description: "Bailiff's own files. Never inside the workspaces root." }),
  init_path: absolutePath.nullable().default(null).meta({
    unit: "path",
    description: "bailiff-init as the engine sees it. Null means the one that ships, once built.",
  }),
  server: server.prefault({}).meta({ description: "The HTTP API." }),
  redis: redis.prefault({}).meta({ description: "Records and queues." }),
  workspaces: workspaces.prefault({}).meta({ description: "Directories that commands work in." }),
  docker: docker.prefault({}).meta({ description: "The engine that runs containers." }),
  worker: worker.prefault({}).meta({ description: "The process that runs commands." }),
  policy: policy.prefault({}).meta({ description: "Host policy." }),
  images,
  environment: z
    .record(
      z
        .string()
        .regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, "must be a variable name")
        .refine(
          (key) => !/^(?:PATH|HOME|LANG|IFS|ENV|BASH_ENV|LD_.*|DYLD_.*|GIT_.*|BAILIFF_.*)$/i.test(key),
          "is set by Bailiff or would change how programs load",
        ),
      z
        .string()
        .max(4096)
        .refine((text) => !text.includes("\0"), "must not contain a NUL character"),
    )
    .default({})
    .meta({
      unit: "name = value",
      description:
        "Variables every command gets beside PATH, HOME and LANG. Commands can read them: no secrets.",
    }),
  limits: limits.prefault({}).meta({ description: "Bounds on time and output." }),
  quotas: quotas.prefault({}).meta({ description: "Bounds on queueing; null is no bound." }),
  tenants,
  auth: auth.prefault({}).meta({ description: "Who may call." }),
  approvals: approvals.prefault({}).meta({ description: "A person's word on what policy asks about." }),
  webhooks: webhooks.prefault({}).meta({ description: "Telling receivers of a session's commands." }),
  archives: archives.prefault({}).meta({ description: "Workspaces as tar streams." }),
  evidence: evidence.prefault({}).meta({ description: "The signed record of every command." }),
  log: log.prefault({}).meta({ description: "The log on standard error." }),
  metrics: metrics.prefault({}).meta({ description: "Prometheus metrics." }),
  telemetry: telemetry.prefault({}).meta({ description: "OpenTelemetry traces." }),
});

/** A valid configuration file with its defaults filled in, in the names of the file. */
export type ConfigDocument = z.infer<typeof configSchema>;
