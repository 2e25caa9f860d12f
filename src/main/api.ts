import { fileURLToPath } from "node:url";
import { createApiKeys } from "../adapters/auth/api-keys.js";
import { createBearerAuthenticator } from "../adapters/auth/bearer-authenticator.js";
import { createJwtAuthenticator } from "../adapters/auth/jwt.js";
import { buildApp } from "../adapters/http/app.js";
import { readConsoleFiles } from "../adapters/http/console-files.js";
import { createMcpEndpoint } from "../adapters/mcp/mcp-endpoint.js";
import { createWorkspaceArchives } from "../adapters/workspace-fs/workspace-archives.js";
import { createApprovalServices } from "../app/approvals/approval-services.js";
import { createBindRequest } from "../app/approvals/bind-request.js";
import { createCancelCommand, createCommandServices } from "../app/command-services.js";
import { listProfiles } from "../app/decide/profile-catalog.js";
import { createEventServices } from "../app/events/event-services.js";
import { createEvidenceServices } from "../app/evidence/evidence-services.js";
import { createPolicyServices } from "../app/policy-services.js";
import { createReadQueueEntries } from "../app/queue-entries.js";
import type { ReadinessCheck } from "../app/readiness.js";
import type { BailiffServices } from "../app/services.js";
import { createSessionServices } from "../app/sessions/session-services.js";
import { createSourceObjectServices } from "../app/sessions/source-object-services.js";
import { createEnqueueAdmitted } from "../app/submit/enqueue-admitted.js";
import { createSubmitServices } from "../app/submit/submit-services.js";
import { createTenantSlots } from "../app/tenant-slots.js";
import { withDeliveries } from "../app/webhooks/with-deliveries.js";
import { createWorkerServices } from "../app/worker-services.js";
import { createArchiveServices } from "../app/workspaces/archive-services.js";
import { createWorkspaceServices } from "../app/workspaces/workspace-services.js";
import { tenantConfig } from "../config/config.js";
import type { SessionGrant } from "../domain/decision/grant.js";
import type { Foundation } from "./foundation.js";
import type { RunningProcess } from "./lifecycle.js";
import { createProcessReadiness } from "./process-readiness.js";
import { VERSION } from "./version.js";
import { startWebhooks } from "./webhooks.js";

/** What a session may do when its creator says nothing: the policy's own verdicts, without further bounds. */
const DEFAULT_GRANT: SessionGrant = {
  level: "allowlist",
  revoked: false,
  expiresAtMs: null,
  dispatchesLeft: null,
  executables: null,
  vectors: [],
};

/** Where the build puts the console. */
const CONSOLE_DIRECTORY = fileURLToPath(new URL("../console", import.meta.url));

/** The HTTP front end, listening. Stopping answers what is in flight; it cancels no command. */
export async function startApi(
  foundation: Foundation,
  moreChecks: Readonly<Record<string, ReadinessCheck>> = {},
): Promise<RunningProcess & { readonly url: string }> {
  const { config, log, metrics, tracer, clock, ids, policy, workspaces, stores, decider } = foundation;
  const apiKeys = await createApiKeys({ path: config.auth.keysFile, clock, log });
  const jwt =
    config.auth.jwt === null ? null : await createJwtAuthenticator({ settings: config.auth.jwt, clock });
  const cancel = createCancelCommand({ commands: stores.commands, queue: stores.queue });
  const enqueue = createEnqueueAdmitted({ queue: stores.queue, log, metrics });
  const archives = createWorkspaceArchives({
    root: config.workspaces.root,
    workspaces,
    limits: { bytes: config.limits.workspaceBytes, inodes: config.limits.workspaceInodes },
    share: foundation.quota.files.share,
  });
  await archives.removeLeftovers(clock.nowMs() - 2 * config.archives.timeoutMs);
  const pools = () => listProfiles(policy.current(), config.images).map(({ pool }) => pool);
  metrics.readAtScrape("bailiff_queue_entries", createReadQueueEntries({ queue: stores.queue, pools }));
  const services: BailiffServices = {
    ...createWorkspaceServices({ workspaces, sessions: stores.sessions, clock }),
    ...createArchiveServices({
      archives,
      workspaces,
      limits: config.archives,
      timeoutMs: config.archives.timeoutMs,
      slots: createTenantSlots(
        {
          perProcess: config.archives.transfers,
          perTenant: config.archives.tenantTransfers,
          things: "archive transfers",
          quota: "archiveTransfers",
          gauge: "bailiff_archive_transfers_open",
        },
        metrics,
      ),
      log,
      metrics,
    }),
    ...createSessionServices({
      sessions: stores.sessions,
      workspaces,
      policy,
      images: config.images,
      clock,
      ids,
      defaultProfile: "default",
      defaultGrant: DEFAULT_GRANT,
      webhookTerms: { secret: config.webhooks.secret, rules: config.webhooks },
      cancel,
    }),
    ...createSourceObjectServices({ sessions: stores.sessions, policy }),
    ...createSubmitServices({
      commands: stores.commands,
      sessions: stores.sessions,
      enqueue,
      decider,
      bind: createBindRequest({ workspaces }),
      approvalExpiryMs: config.limits.approvalExpiryMs,
      clock,
      ids,
      log,
      metrics,
      tracer,
      quotasOf: (tenant) => tenantConfig(config, tenant),
    }),
    ...createCommandServices({ commands: stores.commands, cancel }),
    ...createApprovalServices({
      approvals: stores.approvals,
      commands: stores.commands,
      enqueue,
      allowSelf: config.approvals.allowSelf,
      termsOf: (tenant) => tenantConfig(config, tenant),
      clock,
      log,
      metrics,
    }),
    ...createEventServices({
      commands: stores.commands,
      changes: stores.changes,
      slots: createTenantSlots(
        {
          perProcess: config.server.eventStreams,
          perTenant: config.server.tenantEventStreams,
          things: "event streams",
          quota: "eventStreams",
          gauge: "bailiff_event_streams_open",
        },
        metrics,
      ),
    }),
    ...createPolicyServices({ policy }),
    ...createWorkerServices({
      leases: stores.leases,
      commands: stores.commands,
      queue: stores.queue,
      pools,
    }),
    ...createEvidenceServices({ evidence: stores.evidence, commands: stores.commands }),
    ...createProcessReadiness(foundation, moreChecks, {
      keys: { inPublic: "the newest keys file is not in force", whole: () => apiKeys.problem() },
    }),
  };
  const app = await buildApp({
    services: withDeliveries(services, stores.webhooks),
    authenticator: createBearerAuthenticator({ apiKeys, jwt }),
    limits: config.limits,
    defaultGrant: DEFAULT_GRANT,
    log,
    metrics,
    tracer,
    clock,
    ids,
    metricsText: () => metrics.metricsText(),
    metricsPublic: config.server.publicMetrics,
    version: VERSION,
    console: await readConsoleFiles(CONSOLE_DIRECTORY),
    queueBoard: {
      ...stores.board,
      pools,
    },
    moreRoutes: [createMcpEndpoint({ services, limits: config.limits, clock, log, version: VERSION })],
  });
  const url = await app.listen({ host: config.server.host, port: config.server.port });
  const endWebhooks = startWebhooks(foundation);
  log.info({ url, version: VERSION, policy_version: policy.current().version }, "API is listening");
  return {
    url,
    async stop() {
      await app.close();
      await endWebhooks();
    },
  };
}
