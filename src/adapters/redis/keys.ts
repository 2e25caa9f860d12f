import { createHash } from "node:crypto";

/** What a command's keys are made of; none of it ever changes. */
export interface CommandPlace {
  readonly commandId: string;
  readonly tenant: string;
  readonly sessionId: string;
  readonly pool: string;
}

/** Every key and channel of one deployment. All share one hash tag, so that a Redis Cluster keeps them in one slot. */
export interface Keys {
  readonly changedChannel: string;
  readonly cancelChannel: string;
  /** The channel on which one process gets the ends that its callers wait for. */
  endsChannel(processToken: string): string;
  readonly awaiting: string;
  readonly queued: string;
  readonly dispatched: string;
  readonly closed: string;
  readonly cancelling: string;
  readonly leases: string;
  readonly engines: string;
  /** What workers say of themselves, by their ids. */
  readonly workers: string;
  /** Deliveries to webhooks by the time of their next attempt. */
  readonly webhooksDue: string;
  /** Approvals by the end of their time, as commands' ids. */
  readonly approvalsDue: string;
  /** What evidence is still to be chained; the last key of every script that changes a command. */
  readonly evidenceOutbox: string;
  /** Tenants with evidence. */
  readonly evidenceTenants: string;
  /** Names the deployment's signing key. */
  readonly evidenceKey: string;
  /** The prefix under which BullMQ keeps its queues. */
  readonly queuePrefix: string;
  command(commandId: string): string;
  session(sessionId: string): string;
  sessionOpen(sessionId: string): string;
  sessionIndex(sessionId: string): string;
  /** Source objects and their labels. */
  sessionObjects(sessionId: string): string;
  sessionWaiting(sessionId: string): string;
  sessionInFlight(sessionId: string): string;
  /** What waits for a person, by what the approval binds. */
  sessionPending(sessionId: string): string;
  tenantWaiting(tenant: string): string;
  tenantInFlight(tenant: string): string;
  /** What the tenant has used of its quotas on one UTC day. */
  tenantUsage(tenant: string): string;
  tenantIndex(tenant: string): string;
  tenantSessions(tenant: string): string;
  /** Commands of which a person was asked. */
  tenantApprovals(tenant: string): string;
  workspaceSessions(tenant: string, workspaceId: string): string;
  /** The caller chooses the key's text, so only its hash becomes part of a name. */
  idempotency(tenant: string, key: string): string;
  rate(tenant: string): string;
  poolFair(pool: string): string;
  lead(role: string): string;
  /** Which worker last had a container waiting for a kind. */
  warmHome(fleetKind: string): string;
  /** The channel on which other workers speak to one. */
  workerChannel(workerId: string): string;
  /** Who may look at the queues for a while, by the hash of their token. */
  boardVisit(tokenHash: string): string;
  /** The end of a tenant's chain, and how far it is signed and cut. */
  evidenceHead(tenant: string): string;
  evidenceRecords(tenant: string): string;
  evidenceCheckpoints(tenant: string): string;
  /** Which records are about which command. */
  evidenceIndex(tenant: string): string;
  /** What is known of one delivery. */
  webhookDelivery(commandId: string, event: string): string;
  /** BullMQ's own key of an envelope. */
  envelope(pool: string, commandId: string): string;
  prioritized(pool: string): string;
  /** BullMQ's own keys of the entries of a pool. */
  queue(pool: string): Readonly<Record<"wait" | "prioritized" | "active" | "delayed", string>>;
  marker(pool: string): string;
  /** The keys that every script on commands declares, in the order of `scripts/shared.lua`. */
  shared(place: CommandPlace): string[];
}

/** Builds the key names of a deployment. */
export function createKeys(deployment: string): Keys {
  const at = (...parts: string[]) => [`{bailiff:${deployment}}`, ...parts].join(":");
  const queuePrefix = at("queue");
  const keys: Keys = {
    changedChannel: at("changed"),
    cancelChannel: at("cancel"),
    endsChannel: (processToken) => at("changed", processToken),
    awaiting: at("awaiting"),
    queued: at("queued"),
    dispatched: at("dispatched"),
    closed: at("closed"),
    cancelling: at("cancelling"),
    leases: at("leases"),
    engines: at("engines"),
    workers: at("workers"),
    webhooksDue: at("webhooks-due"),
    approvalsDue: at("approvals-due"),
    evidenceOutbox: at("evidence-outbox"),
    evidenceTenants: at("evidence-tenants"),
    evidenceKey: at("evidence-key"),
    queuePrefix,
    command: (commandId) => at("cmd", commandId),
    session: (sessionId) => at("session", sessionId),
    sessionOpen: (sessionId) => at("session", sessionId, "open"),
    sessionIndex: (sessionId) => at("session", sessionId, "index"),
    sessionObjects: (sessionId) => at("session", sessionId, "objects"),
    sessionWaiting: (sessionId) => at("session", sessionId, "waiting"),
    sessionInFlight: (sessionId) => at("session", sessionId, "in-flight"),
    sessionPending: (sessionId) => at("session", sessionId, "pending"),
    tenantWaiting: (tenant) => at("tenant", tenant, "waiting"),
    tenantInFlight: (tenant) => at("tenant", tenant, "in-flight"),
    tenantUsage: (tenant) => at("tenant", tenant, "usage"),
    tenantIndex: (tenant) => at("tenant", tenant, "index"),
    tenantApprovals: (tenant) => at("tenant", tenant, "approvals"),
    tenantSessions: (tenant) => at("tenant", tenant, "sessions"),
    workspaceSessions: (tenant, workspaceId) => at("tenant", tenant, "workspace", workspaceId),
    idempotency: (tenant, key) =>
      at("tenant", tenant, "idem", createHash("sha256").update(key).digest("hex")),
    rate: (tenant) => at("tenant", tenant, "rate"),
    poolFair: (pool) => at("pool", pool, "fair"),
    lead: (role) => at("lead", role),
    warmHome: (fleetKind) => at("warm-home", fleetKind),
    workerChannel: (workerId) => at("worker", workerId),
    boardVisit: (tokenHash) => at("board-visit", tokenHash),
    evidenceHead: (tenant) => at("evidence", tenant, "head"),
    evidenceRecords: (tenant) => at("evidence", tenant, "records"),
    evidenceCheckpoints: (tenant) => at("evidence", tenant, "checkpoints"),
    evidenceIndex: (tenant) => at("evidence", tenant, "index"),
    webhookDelivery: (commandId, event) => at("webhook", commandId, event),
    envelope: (pool, commandId) => `${queuePrefix}:${pool}:${commandId}`,
    prioritized: (pool) => `${queuePrefix}:${pool}:prioritized`,
    queue: (pool) => ({
      wait: `${queuePrefix}:${pool}:wait`,
      prioritized: keys.prioritized(pool),
      active: `${queuePrefix}:${pool}:active`,
      delayed: `${queuePrefix}:${pool}:delayed`,
    }),
    marker: (pool) => `${queuePrefix}:${pool}:marker`,
    shared: ({ commandId, tenant, sessionId, pool }) => [
      keys.command(commandId),
      keys.session(sessionId),
      keys.sessionOpen(sessionId),
      keys.sessionWaiting(sessionId),
      keys.tenantWaiting(tenant),
      keys.tenantInFlight(tenant),
      keys.awaiting,
      keys.queued,
      keys.dispatched,
      at("pool", pool, "queued"),
      keys.poolFair(pool),
      keys.closed,
      keys.cancelling,
      keys.leases,
      keys.engines,
      keys.webhooksDue,
      keys.sessionInFlight(sessionId),
      keys.tenantUsage(tenant),
      keys.sessionPending(sessionId),
      keys.approvalsDue,
    ],
  };
  return keys;
}
