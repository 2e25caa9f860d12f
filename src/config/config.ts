import type { ArchiveLimits } from "../domain/archive/archive-terms.js";
import type { RecordingTerms } from "../domain/evidence/evidence-of.js";
import type { ServiceLimits } from "../domain/limits.js";
import type { WorkspaceQuotaMode } from "../domain/workspace-quota.js";

/** Which tokens to accept beside API keys. Exactly one of `jwksUrl` and `jwksFile` is set. */
export interface JwtConfig {
  readonly issuer: string;
  readonly audience: string;
  readonly jwksUrl: string | null;
  readonly jwksFile: string | null;
  readonly algorithms: readonly string[];
  readonly tenantClaim: string;
  readonly scopeClaim: string;
}

/** What one tenant gets; every bound is resolved, null is no bound. */
export interface TenantConfig {
  readonly totalQueued: number | null;
  readonly tenantQueued: number | null;
  readonly tenantConcurrent: number | null;
  readonly sessionQueued: number | null;
  readonly tenantRequestsPerMinute: number | null;
  readonly tenantDispatchesPerDay: number | null;
  readonly tenantWallMsPerDay: number | null;
  readonly tenantCpuMsPerDay: number | null;
  /** Share in fair queueing, relative to other tenants. */
  readonly tenantWeight: number;
}

/** The configuration of a process: complete, checked and frozen. `docs/configuration.md` explains each field. */
export interface Config {
  readonly deployment: string;
  readonly dataDir: string;
  /** As the engine sees it; null where the shipped binary is to be used. */
  readonly initPath: string | null;
  readonly server: {
    readonly host: string;
    readonly port: number;
    readonly publicMetrics: boolean;
    readonly eventStreams: number;
    readonly tenantEventStreams: number;
  };
  /** `url` null asks for a private redis-server child; with `clusterNodes`, `host:port` each, it is one node of a Cluster. */
  readonly redis: {
    readonly url: string | null;
    readonly clusterNodes: readonly string[];
    /** How many replicas have to have a claim before its argv is sent; 0 where none is waited for. */
    readonly waitReplicas: number;
    /** Files in PEM, with `rediss://` alone. */
    readonly tls: {
      readonly caFile: string | null;
      readonly certFile: string | null;
      readonly keyFile: string | null;
    };
  };
  readonly workspaces: {
    readonly root: string;
    readonly runnerUid: number;
    readonly runnerGid: number;
    readonly quota: WorkspaceQuotaMode;
  };
  /** `unix://` and the absolute path of the engine's socket. */
  readonly docker: { readonly host: string; readonly callLimitMs: number };
  readonly worker: {
    readonly concurrency: number;
    readonly pools: readonly string[];
    readonly shutdownGraceMs: number;
    readonly leaseMs: number;
    readonly heartbeatMs: number;
    readonly reconcileMs: number;
    readonly sweepMs: number;
    readonly queueLockMs: number;
    readonly probePort: number | null;
    readonly warm: {
      /** 0 for none. */
      readonly maxContainers: number;
      /** Of their memory limits together. */
      readonly maxMemoryBytes: number;
      readonly maxAgeMs: number;
      readonly idleMs: number;
      /** 0 for no offers. */
      readonly offerMs: number;
    };
  };
  /** Empty means the default policy that ships. */
  readonly policy: { readonly files: readonly string[] };
  /** Profile name to `sha256:…` or `name@sha256:…`. */
  readonly images: Readonly<Record<string, string>>;
  readonly environment: Readonly<Record<string, string>>;
  readonly limits: ServiceLimits;
  /** For a tenant that is not in `tenants`. */
  readonly defaultTenant: TenantConfig;
  readonly tenants: Readonly<Record<string, TenantConfig>>;
  readonly auth: { readonly keysFile: string; readonly jwt: JwtConfig | null };
  readonly approvals: { readonly allowSelf: boolean };
  readonly webhooks: {
    /** Null where webhooks are not configured. */
    readonly secret: string | null;
    readonly allowHttp: boolean;
    readonly ports: readonly number[];
    readonly allowAddresses: readonly string[];
    readonly attempts: number;
    readonly retryMs: number;
    readonly timeoutMs: number;
  };
  readonly archives: ArchiveLimits & {
    readonly transfers: number;
    readonly tenantTransfers: number;
    readonly timeoutMs: number;
  };
  readonly evidence: {
    readonly argv: RecordingTerms["argv"];
    readonly output: RecordingTerms["output"];
    readonly secretOptions: readonly string[];
    readonly directory: string;
    /** Null where the key is Bailiff's own to make: `evidence-key.pem` under `dataDir`. */
    readonly signingKeyFile: string | null;
    readonly checkpointRecords: number;
    readonly checkpointMs: number;
    readonly maxFileBytes: number;
  };
  readonly log: { readonly level: "debug" | "info" | "warn" | "error" | "silent" };
  readonly metrics: { readonly process: boolean };
  readonly telemetry: {
    /** Null where nothing is traced. */
    readonly otlpEndpoint: string | null;
    readonly otlpAuthorization: string | null;
    /** 0 to 1. */
    readonly sampleRatio: number;
  };
}

/** Quotas and weight of a tenant, whether or not it is configured. */
export function tenantConfig(config: Config, tenant: string): TenantConfig {
  return Object.hasOwn(config.tenants, tenant)
    ? (config.tenants[tenant] ?? config.defaultTenant)
    : config.defaultTenant;
}
