import { Readable } from "node:stream";
import type { BailiffServices, SourceObject } from "../../../src/app/services.js";
import { approvalIdOf, commandIdOf, pendingApproval } from "../../../src/domain/approval/approval.js";
import type { CommandRecord, CommandResult } from "../../../src/domain/command.js";
import { commandEvents, EVENT_IDS } from "../../../src/domain/command-events.js";
import type { Decision } from "../../../src/domain/decision/decision.js";
import type { SessionGrant } from "../../../src/domain/decision/grant.js";
import { UNBOUNDED_SESSION } from "../../../src/domain/decision/session-budget.js";
import { BailiffError } from "../../../src/domain/errors.js";
import type { ChainedRecord } from "../../../src/domain/evidence/evidence-record.js";
import { formatId } from "../../../src/domain/ids.js";
import { neverStarted } from "../../../src/domain/outcome.js";
import { unstartedResult } from "../../../src/domain/result.js";
import type { Session, Workspace } from "../../../src/domain/session.js";
import type { Principal, Scope } from "../../../src/ports/authenticator.js";

/** A grant that bounds nothing. */
export const OPEN_GRANT: SessionGrant = {
  level: "allowlist",
  revoked: false,
  expiresAtMs: null,
  dispatchesLeft: null,
  executables: null,
  vectors: [],
};

/** A decision with one speaking layer. */
export function decisionOf(verdict: Decision["verdict"], reason = "because"): Decision {
  return {
    verdict,
    layers: [
      { layer: "schema", verdict: "pass", code: "ok", reason: "fits" },
      { layer: "policy", verdict, code: `policy_${verdict}`, reason, ruleId: "rule-1" },
    ],
    policyVersion: "v1",
    innerVectors: [],
    gitHardened: false,
    boundFiles: [],
  };
}

/** A completed result with this output. */
export function completedResult(stdout: string, more: Partial<CommandResult> = {}): CommandResult {
  const facts = {
    bytes: Buffer.byteLength(stdout),
    sha256: "00",
    truncated: false,
    truncatedBy: [],
    utf8Replaced: false,
  };
  return {
    outcome: "completed",
    effect: "completed",
    returncode: 0,
    signal: null,
    startFailure: null,
    detail: null,
    stdout: facts,
    stderr: { ...facts, bytes: 0 },
    output: { stdout, stderr: "" },
    partial: false,
    resultOmitted: false,
    usage: { wallMs: 5, cpuMs: 3, peakMemoryBytes: 1024, oomKills: 0 },
    gitHardened: false,
    ...more,
  };
}

/** What the service does with a submitted argv[0]; anything else completes at once with the argv as its stdout. */
export const DENIED_ARGV0 = "deny-me";
/** Stays `awaiting_approval`. */
export const ASKED_ARGV0 = "ask-me";
/** Stays `dispatched` until cancelled; a wait for it ends with its signal. */
export const SLOW_ARGV0 = "slow";

/** The services port in memory: tenants, scopes and idempotency as the real ones have them, and no container. */
export interface InMemoryServices extends BailiffServices {
  readonly commands: Map<string, CommandRecord>;
  readonly sessions: Map<string, Session>;
  /** What an audit shows, of any tenant. */
  readonly evidence: ChainedRecord[];
  /** Aborted waits so far. */
  readonly abortedWaits: () => number;
  /** The next call of any method rejects with this. */
  failNextWith(error: unknown): void;
  setReady(ready: boolean): void;
  /** Changes a command as a worker would, and tells its event streams. */
  change(commandId: string, change: Partial<CommandRecord>): void;
  /** Event streams that are open. */
  readonly openStreams: () => number;
  /** Archives that are being received. */
  readonly openUploads: () => number;
}

/** Builds an empty service. */
export function createInMemoryServices(): InMemoryServices {
  const workspaces = new Map<string, Workspace>();
  const archives = new Map<string, Buffer>();
  const sessions = new Map<string, Session>();
  const commands = new Map<string, CommandRecord>();
  const objects = new Map<string, SourceObject>();
  const keys = new Map<string, { commandId: string; bodyHash: string }>();
  const followers = new Set<{ commandId: string; tell: () => void }>();
  const evidence: ChainedRecord[] = [];
  let uploads = 0;
  let counter = 0;
  let aborted = 0;
  let ready = true;
  let failure: { error: unknown } | null = null;

  const enter = (principal: Principal, scope: Scope) => {
    const failing = failure;
    failure = null;
    if (failing !== null) throw failing.error;
    if (!principal.scopes.has(scope) && !principal.scopes.has("admin")) {
      throw new BailiffError("insufficient_scope", `the scope ${scope} is needed`);
    }
  };
  const missing = (what: string) => new BailiffError("not_found", `no such ${what}`);
  const nextId = (kind: "cmd" | "ses") => {
    counter += 1;
    return formatId(kind, 1_700_000_000_000 + counter, new Uint8Array(10).fill(counter % 251));
  };
  const session = (principal: Principal, id: string): Session => {
    const found = sessions.get(id);
    if (found === undefined || found.tenant !== principal.tenant) throw missing("session");
    return found;
  };
  const command = (principal: Principal, id: string): CommandRecord => {
    const found = commands.get(id);
    if (found === undefined || found.tenant !== principal.tenant) throw missing("command");
    return found;
  };
  const asked = (principal: Principal, id: string) => {
    const found = commands.get(commandIdOf(id));
    if (found?.approval === undefined || found.tenant !== principal.tenant) throw missing("approval");
    return { ...found, approval: found.approval };
  };
  const wait = async (record: CommandRecord, waitMs: number, signal: AbortSignal): Promise<CommandRecord> => {
    if (record.state === "finished" || waitMs === 0) return record;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, waitMs);
      const end = () => {
        aborted += 1;
        clearTimeout(timer);
        resolve();
      };
      if (signal.aborted) end();
      else signal.addEventListener("abort", end, { once: true });
    });
    return commands.get(record.id) ?? record;
  };

  return {
    commands,
    sessions,
    evidence,
    abortedWaits: () => aborted,
    failNextWith: (error) => {
      failure = { error };
    },
    setReady: (value) => {
      ready = value;
    },
    openStreams: () => followers.size,
    openUploads: () => uploads,
    change(commandId, change) {
      const record = commands.get(commandId);
      if (record === undefined) throw missing("command");
      commands.set(commandId, { ...record, ...change });
      for (const follower of [...followers]) if (follower.commandId === commandId) follower.tell();
    },
    async followCommand(principal, id, afterId, signal) {
      enter(principal, "commands:read");
      command(principal, id);
      if (afterId >= EVENT_IDS.finished) return null;
      return (onEvent, onEnd) => {
        let lastId = afterId;
        const end = () => {
          if (followers.delete(follower)) onEnd();
        };
        const tell = () => {
          const record = command(principal, id);
          for (const event of commandEvents(record)) {
            if (event.id <= lastId) continue;
            lastId = event.id;
            onEvent(event);
          }
          if (record.state === "finished") end();
        };
        const follower = { commandId: id, tell };
        followers.add(follower);
        signal.addEventListener("abort", end, { once: true });
        tell();
      };
    },
    async putWorkspace(principal, id) {
      enter(principal, "workspaces:write");
      const key = `${principal.tenant}/${id}`;
      const old = workspaces.get(key);
      const workspace = old ?? {
        tenant: principal.tenant,
        id,
        createdAtMs: 1_700_000_000_000,
        uid: 1000,
        gid: 1000,
      };
      workspaces.set(key, workspace);
      return { workspace, created: old === undefined };
    },
    async getWorkspace(principal, id) {
      enter(principal, "workspaces:read");
      const found = workspaces.get(`${principal.tenant}/${id}`);
      if (found === undefined) throw missing("workspace");
      return found;
    },
    async deleteWorkspace(principal, id) {
      enter(principal, "workspaces:write");
      if (!workspaces.delete(`${principal.tenant}/${id}`)) throw missing("workspace");
    },
    async receiveArchive(principal, id, source, signal) {
      enter(principal, "workspaces:write");
      const key = `${principal.tenant}/${id}`;
      if (!workspaces.has(key)) throw missing("workspace");
      const chunks: Uint8Array[] = [];
      uploads += 1;
      try {
        for await (const chunk of source.open(signal)) chunks.push(chunk);
      } finally {
        uploads -= 1;
      }
      const archive = Buffer.concat(chunks);
      archives.set(key, archive);
      return { entries: 1, bytes: archive.length };
    },
    async sendArchive(principal, id, signal) {
      enter(principal, "workspaces:read");
      const key = `${principal.tenant}/${id}`;
      if (!workspaces.has(key)) throw missing("workspace");
      return {
        chunks: Readable.from([archives.get(key) ?? Buffer.alloc(1024)], { objectMode: false }),
        until: signal,
      };
    },
    async createSession(principal, wanted) {
      enter(principal, "sessions:write");
      if (!workspaces.has(`${principal.tenant}/${wanted.workspaceId}`)) throw missing("workspace");
      const created: Session = {
        id: nextId("ses"),
        tenant: principal.tenant,
        workspaceId: wanted.workspaceId,
        profile: wanted.profile ?? "default",
        cwd: ".",
        grant: wanted.grant ?? OPEN_GRANT,
        budget: wanted.budget ?? UNBOUNDED_SESSION,
        label: { sensitivity: "public", trust: "unknown", categories: [], tenant: principal.tenant },
        version: 1,
        createdBy: principal.id,
        createdAtMs: 1_700_000_000_000,
        ...(wanted.webhook === null ? {} : { webhook: wanted.webhook }),
      };
      sessions.set(created.id, created);
      return { session: created, webhookSecret: wanted.webhook === null ? null : "whsec_in-memory" };
    },
    async getSession(principal, id) {
      enter(principal, "sessions:read");
      return session(principal, id);
    },
    async listSessions(principal, limit) {
      enter(principal, "sessions:read");
      const own = [...sessions.values()].filter((one) => one.tenant === principal.tenant);
      return { sessions: own.slice(0, limit), nextCursor: own.length > limit ? "more" : null };
    },
    async deleteSession(principal, id) {
      enter(principal, "sessions:write");
      session(principal, id);
      sessions.delete(id);
    },
    async revokeSession(principal, id) {
      enter(principal, "sessions:write");
      const open = session(principal, id);
      const revoked = { ...open, grant: { ...open.grant, revoked: true } };
      sessions.set(id, revoked);
      return revoked;
    },
    async putSourceObject(principal, id, objectId, words) {
      enter(principal, "sessions:write");
      session(principal, id);
      const key = `${id}/${objectId}`;
      const created = !objects.has(key);
      const object = { objectId, label: { ...words, tenant: principal.tenant } };
      objects.set(key, object);
      return { ...object, created };
    },
    async getSourceObject(principal, id, objectId) {
      enter(principal, "sessions:read");
      session(principal, id);
      const found = objects.get(`${id}/${objectId}`);
      if (found === undefined) throw missing("source object");
      return found;
    },
    async setCwd(principal, id, path) {
      enter(principal, "commands:write");
      const moved = { ...session(principal, id), cwd: path };
      sessions.set(id, moved);
      return moved;
    },
    async submitCommand(principal, sessionId, submission, options) {
      enter(principal, "commands:write");
      const { workspaceId, cwd } = session(principal, sessionId);
      const known =
        options.idempotency === null ? undefined : keys.get(`${principal.tenant}/${options.idempotency.key}`);
      if (known !== undefined) {
        if (known.bodyHash !== options.idempotency?.bodyHash) {
          throw new BailiffError(
            "idempotency_mismatch",
            "this Idempotency-Key came before with another body",
          );
        }
        return {
          record: await wait(command(principal, known.commandId), options.waitMs, options.signal),
          duplicate: true,
        };
      }
      const argv0 = submission.argv[0];
      const decision = decisionOf(argv0 === DENIED_ARGV0 ? "deny" : argv0 === ASKED_ARGV0 ? "ask" : "allow");
      const state =
        argv0 === ASKED_ARGV0 ? "awaiting_approval" : argv0 === SLOW_ARGV0 ? "dispatched" : "finished";
      const finishedAtMs = state === "finished" ? 1_700_000_000_250 : null;
      const started = argv0 !== DENIED_ARGV0 && argv0 !== ASKED_ARGV0;
      const id = nextId("cmd");
      const record: CommandRecord = {
        id,
        tenant: principal.tenant,
        sessionId,
        workspaceId,
        principalId: principal.id,
        profile: "default",
        imageDigest: "sha256:00",
        pool: "secret-pool",
        request: { ...submission, cwd },
        decision,
        state,
        createdAtMs: 1_700_000_000_000,
        queuedAtMs: started ? 1_700_000_000_000 : null,
        dispatchedAtMs: started ? 1_700_000_000_100 : null,
        finishedAtMs,
        fence: "fen_secret",
        workerId: "wrk_secret",
        containerId: started ? "c0ffee" : null,
        cancelRequested: false,
        approvalId: state === "awaiting_approval" ? approvalIdOf(id) : null,
        ...(state === "awaiting_approval"
          ? {
              approval: {
                ...pendingApproval(approvalIdOf(id), { binding: "ab".repeat(32), files: [] }),
                expiresAtMs: 1_700_000_900_000,
              },
            }
          : {}),
        result: state === "finished" ? completedResult(submission.argv.join(" ").slice(0, 100)) : null,
      };
      if (decision.verdict === "deny") {
        throw new BailiffError("denied", "because. This is final for this request.", {
          extensions: { command_id: record.id, decision },
        });
      }
      commands.set(record.id, record);
      if (options.idempotency !== null) {
        keys.set(`${principal.tenant}/${options.idempotency.key}`, {
          commandId: record.id,
          bodyHash: options.idempotency.bodyHash,
        });
      }
      return { record: await wait(record, options.waitMs, options.signal), duplicate: false };
    },
    async getCommand(principal, id, waitMs, signal) {
      enter(principal, "commands:read");
      return wait(command(principal, id), waitMs, signal);
    },
    async listCommands(principal, query) {
      enter(principal, "commands:read");
      const own = [...commands.values()].filter(
        (one) =>
          one.tenant === principal.tenant &&
          (query.sessionId === null || one.sessionId === query.sessionId) &&
          (query.state === null || one.state === query.state),
      );
      return { records: own.slice(0, query.limit), nextCursor: own.length > query.limit ? "more" : null };
    },
    async cancelCommand(principal, id) {
      enter(principal, "commands:write");
      const record = command(principal, id);
      const cancelled: CommandRecord =
        record.state === "finished"
          ? record
          : record.state === "dispatched"
            ? { ...record, cancelRequested: true }
            : { ...record, state: "finished", result: unstartedResult(neverStarted("cancelled", null)) };
      commands.set(id, cancelled);
      return cancelled;
    },
    async listApprovals(principal, query) {
      enter(principal, "approvals:read");
      const records = [...commands.values()].filter(
        (one) =>
          one.tenant === principal.tenant &&
          one.approval !== undefined &&
          (query.state === null || one.approval.state === query.state),
      );
      return { records: records.slice(0, query.limit), nextCursor: null };
    },
    async getApproval(principal, id) {
      enter(principal, "approvals:read");
      return asked(principal, id);
    },
    async decideApproval(principal, id, { decision, note }) {
      enter(principal, "approvals:decide");
      const record = asked(principal, id);
      const standing = record.approval.state;
      if (standing !== "pending") {
        throw new BailiffError("conflict", `the approval is ${standing} already`, {
          extensions: { approval_state: standing },
        });
      }
      const decided: CommandRecord = {
        ...record,
        state: decision === "approve" ? "queued" : "finished",
        result:
          decision === "approve"
            ? null
            : unstartedResult(neverStarted("approval_denied", "a person denied it")),
        approval: {
          ...record.approval,
          state: decision === "approve" ? "approved" : "denied",
          decidedBy: principal.id,
          decidedAtMs: 1_700_000_000_500,
          note,
        },
      };
      commands.set(record.id, decided);
      return decided;
    },
    async explain(principal, sessionId, submission) {
      enter(principal, "commands:write");
      session(principal, sessionId);
      return decisionOf(submission.argv[0] === DENIED_ARGV0 ? "deny" : "allow");
    },
    async commandEvidence(principal, commandId) {
      enter(principal, "commands:read");
      command(principal, commandId);
      return {
        commandId,
        records: evidence
          .filter(({ record }) => record.command_id === commandId)
          .map((chained) => ({ chained, seal: null })),
        complete: true,
      };
    },
    async audit(principal) {
      enter(principal, "audit:read");
      return { records: evidence, checkpoints: [], nextCursor: null };
    },
    async policy(principal) {
      enter(principal, "policy:read");
      return { version: "v1", document: { rules: [] } };
    },
    async workers(principal) {
      enter(principal, "admin");
      const status = {
        host: "host-1",
        pools: ["default"],
        concurrency: 4,
        running: 1,
        warmContainers: 2,
        isDraining: false,
      };
      const seen = { status, startedAtMs: 1_700_000_000_000, renewedAtMs: 1_700_000_001_000 };
      return {
        workers: [
          { ...seen, workerId: "wrk_a", holdsLease: true },
          { ...seen, workerId: "wrk_b", holdsLease: true, status: { ...status, isDraining: true } },
          { ...seen, workerId: "wrk_c", holdsLease: false },
        ],
        queues: [{ pool: "default", waiting: 0, prioritized: 7, active: 1, delayed: 0, workers: 1 }],
        commands: { awaiting_approval: 2, queued: 7, dispatched: 1 },
      };
    },
    async readiness() {
      const detail = ready ? null : "does not answer";
      return {
        ready,
        checks: {
          redis: { ok: ready, detail, operatorDetail: detail },
          policy: { ok: true, detail: "refused", operatorDetail: "policy.yaml:3:1: [hunter2]" },
        },
      };
    },
  };
}
