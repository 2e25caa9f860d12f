import { createBindRequest } from "../../src/app/approvals/bind-request.js";
import { createEnqueueAdmitted } from "../../src/app/submit/enqueue-admitted.js";
import { createSubmitServices } from "../../src/app/submit/submit-services.js";
import { tenantConfig } from "../../src/config/config.js";
import { loadConfig } from "../../src/config/load-config.js";
import type { CommandRecord } from "../../src/domain/command.js";
import { type Foundation, layFoundation } from "../../src/main/foundation.js";
import type { Principal } from "../../src/ports/authenticator.js";
import { createInstallation, type Installation } from "../../test/support/bailiff.js";
import { aSession } from "../../test/support/redis-fixtures.js";
import { type RedisServer, startRedisServer } from "../../test/support/redis-server.js";
import type { BenchmarkContext } from "./benchmark.js";

/** The parts of Bailiff in this process, composed as its own main does it, on a Redis of their own. */
export interface ControlPlane {
  readonly foundation: Foundation;
  readonly installation: Installation;
  readonly redis: RedisServer;
}

/** A caller's session in this process. */
export interface Submitter {
  readonly sessionId: string;
  /** Decides, admits and enqueues `true`, as one HTTP request does; `waitMs` waits for its end as well. */
  submit(waitMs: number): Promise<CommandRecord>;
}

/** Lays the foundation, with the append-only file on and a silent log. `settings` are those of a configuration file. */
export async function createControlPlane(
  context: BenchmarkContext,
  settings: Record<string, unknown> = {},
): Promise<ControlPlane> {
  const { environment } = context;
  const installation = await createInstallation();
  context.defer(() => installation.remove());
  const redis = await startRedisServer();
  context.defer(() => redis.stop());
  const config = loadConfig({
    env: {},
    fileName: "",
    readSecret: () => "",
    fileText: JSON.stringify({
      deployment: installation.deployment,
      data_dir: installation.directory,
      init_path: environment.initPath,
      server: { port: 0 },
      docker: { host: `unix://${environment.dockerSocket}` },
      images: { default: environment.sandboxImageId },
      quotas: { total_queued: null, queued: null, session_queued: null },
      log: { level: "silent" },
      metrics: { process: false },
      ...settings,
    }),
  });
  const foundation = await layFoundation(config, "bench", redis.url);
  context.defer(() => foundation.closers.closeAll());
  return { foundation, installation, redis };
}

/** Opens a session of a tenant whose commands are all allowed. */
export async function openSubmitter(foundation: Foundation, tenant: string): Promise<Submitter> {
  const { config, stores, workspaces, clock } = foundation;
  await workspaces.ensure(tenant, "main", clock.nowMs());
  const session = aSession({ tenant, workspaceId: "main" });
  await stores.sessions.create(session);
  const principal: Principal = { id: tenant, tenant, scopes: new Set(["admin"]), method: "api_key" };
  const { submitCommand } = createSubmitServices({
    ...foundation,
    ...stores,
    enqueue: createEnqueueAdmitted({ ...foundation, queue: stores.queue }),
    bind: createBindRequest({ workspaces }),
    approvalExpiryMs: config.limits.approvalExpiryMs,
    quotasOf: (name) => tenantConfig(config, name),
  });
  return {
    sessionId: session.id,
    async submit(waitMs) {
      const { record } = await submitCommand(
        principal,
        session.id,
        {
          argv: ["true"],
          timeoutMs: 30_000,
          maxStdoutChars: 32_000,
          maxStderrChars: 32_000,
          sourceObjects: [],
          reason: null,
        },
        { idempotency: null, waitMs, traceparent: null, signal: new AbortController().signal },
      );
      return record;
    },
  };
}
