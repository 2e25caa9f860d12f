import type { CommandRecord, CommandResult } from "../../domain/command.js";
import type { ServiceLimits } from "../../domain/limits.js";
import type { Ending } from "../../domain/outcome.js";
import { classifyReport, lost, neverStarted } from "../../domain/outcome.js";
import { dispatchedResult, unstartedResult } from "../../domain/result.js";
import { traceFields } from "../../domain/trace-context.js";
import type { Clock } from "../../ports/clock.js";
import type { HandlerAnswer } from "../../ports/command-queue.js";
import type { Claim, ClaimAnswer, CommandStore } from "../../ports/command-store.js";
import { StoreUnavailable } from "../../ports/command-store.js";
import type {
  ContainerPurpose,
  ProcessEnd,
  ProcessRequest,
  ReadyContainer,
} from "../../ports/container-runtime.js";
import { RuntimeFault } from "../../ports/container-runtime.js";
import type { IdSource } from "../../ports/id-source.js";
import type { Log, Metrics, Tracer } from "../../ports/telemetry.js";
import type { ActiveCommand, ActiveCommands, EndReason } from "./active-commands.js";
import { type ExecutionTrace, traceExecution } from "./execution-trace.js";
import type { HeldCommands } from "./held-commands.js";
import type { WorkspaceWatch } from "./workspace-watch.js";

/** A command that passed the re-check, with everything its container needs. */
export interface DispatchPlan {
  /** The session as the re-check saw it; null where no label came of it. */
  readonly seen: Claim["seen"];
  readonly purpose: ContainerPurpose;
  /** The argv as dispatched (hardened where the git guard says so) and the whole environment. */
  readonly argv: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

/** The worker's own decision at dispatch; it can only get stricter than the record's. */
export type Recheck =
  | { readonly kind: "proceed"; readonly plan: DispatchPlan }
  | { readonly kind: "refuse"; readonly detail: string };

/** Hands out a container past its readiness frame; the pool or a cold start. */
export interface ContainerLease {
  acquire(purpose: ContainerPurpose, signal: AbortSignal): Promise<ReadyContainer>;
  /** Kill and remove behind the result; never rejects, failures stay with the sweeper. */
  dispose(container: ReadyContainer): void;
}

/** What is another way for a command that another worker offered to this one. */
export interface OfferedTerms {
  /** One that waits already, or null: then the command stays where it is. */
  acquire(purpose: ContainerPurpose): Promise<ReadyContainer | null>;
  /** Called once the command is dispatched and can't be given back any more. */
  dispatched(): void;
}

/** How often a container may fail to start before the command ends as `start_failed`. */
const MAX_PREPARE_FAILURES = 3;
/** How often a command is checked again because its session changed behind the check, before its entry goes back. */
const MAX_RECHECKS = 5;
/** The whole way to a ready container, over all its engine calls. */
const ACQUIRE_LIMIT_MS = 60_000;
/** Between two attempts to have the container of an unproven end removed. */
const REMOVAL_PAUSE_MS = 1_000;

/**
 * The way of one queue entry through a worker: re-check, container, claim, argv, end.
 * The container is ready before the claim, so that everything that can fail for the engine's reasons fails while
 * the command is still queued; behind the claim there is only one message to send.
 */
export function createExecuteCommand(deps: {
  readonly commands: CommandStore;
  readonly recheck: (record: CommandRecord) => Promise<Recheck>;
  readonly containers: ContainerLease;
  /** Whether a worker with a container waiting has dispatched the command in place of this one; never rejects. */
  readonly offer: (commandId: string, purpose: ContainerPurpose) => Promise<boolean>;
  readonly active: ActiveCommands;
  readonly held: HeldCommands;
  readonly workspaces: Pick<WorkspaceWatch, "watch">;
  readonly limits: ServiceLimits;
  readonly workerId: string;
  /**
   * A worker that was stopped between claim and send for longer than this must not send: its lease may be over and the
   * command may have been declared lost. The reconciler counts with it.
   */
  readonly claimToSendMs: number;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly tracer: Tracer;
  readonly pause: (ms: number) => Promise<void>;
  /** Aborted once the worker takes no more: what is not dispatched goes back. */
  readonly draining: AbortSignal;
  /** Whether the process is about to end whatever is still open. */
  readonly givesUp: () => boolean;
}): (commandId: string, offered?: OfferedTerms) => Promise<HandlerAnswer> {
  const prepareFailures = new Map<string, number>();

  const noteFinished = (record: CommandRecord, { outcome, effect }: Pick<Ending, "outcome" | "effect">) => {
    deps.metrics.count("bailiff_commands_finished_total", { outcome, effect });
    // The submit was timed by another process's clock.
    const tookMs = Math.max(0, deps.clock.nowMs() - record.createdAtMs);
    deps.metrics.observe("bailiff_command_duration_seconds", tookMs / 1000, { outcome });
  };

  const endUnstarted = async (record: CommandRecord, ending: Ending): Promise<HandlerAnswer> => {
    await deps.commands.endUnstarted(record.id, unstartedResult(ending));
    prepareFailures.delete(record.id);
    noteFinished(record, ending);
    return "done";
  };

  /** The engine refused or did not answer; the command is still queued and no argv was sent. */
  const prepareFailed = async (record: CommandRecord, error: unknown): Promise<HandlerAnswer> => {
    const failures = (prepareFailures.get(record.id) ?? 0) + 1;
    const code = error instanceof RuntimeFault ? error.code : "refused";
    deps.metrics.count("bailiff_container_start_failures_total", { code });
    deps.log.warn({ command_id: record.id, code, failures, err: error }, "no container could be made ready");
    if (failures < MAX_PREPARE_FAILURES && code !== "image_missing" && code !== "mount_refused") {
      prepareFailures.set(record.id, failures);
      return "give_back";
    }
    return endUnstarted(record, {
      outcome: "start_failed",
      effect: "none",
      returncode: null,
      signal: null,
      startFailure: {
        stage: "container",
        errno: code.toUpperCase(),
        message: "no container could be made ready",
      },
      detail: null,
    });
  };

  const dispatch = async (
    record: CommandRecord,
    plan: DispatchPlan,
    container: ReadyContainer,
    trace: ExecutionTrace,
    offered: OfferedTerms | undefined,
  ): Promise<HandlerAnswer | "session_changed"> => {
    const fence = deps.ids.next("fen");
    const claimedAtMs = deps.clock.nowMs();
    // Known here before the claim: a cancel that comes right behind it must find the command.
    const active = deps.active.enter(record.id, container.containerId);
    try {
      let claim: ClaimAnswer;
      try {
        claim = await trace.step("claim", () =>
          deps.commands.claim({
            commandId: record.id,
            workerId: deps.workerId,
            fence,
            containerId: container.containerId,
            seen: plan.seen,
          }),
        );
      } catch (error) {
        // The claim may have gone through all the same. Voiding its fence makes that harmless, and must happen:
        // a command dispatched to a live worker that does not run it would be nobody's.
        await giveBackClaim(record, fence);
        if (!(error instanceof StoreUnavailable)) throw error;
        deps.log.warn({ command_id: record.id, err: error }, "a claim was not confirmed, and is given back");
        return "give_back";
      }
      if (claim.kind === "no_lease") {
        deps.metrics.count("bailiff_claims_refused_total", { reason: "no_lease" });
        return "give_back";
      }
      if (claim.kind === "session_changed") {
        deps.metrics.count("bailiff_claims_refused_total", { reason: "session_changed" });
        return "session_changed";
      }
      if (claim.kind === "not_queued") {
        deps.metrics.count("bailiff_claims_refused_total", { reason: "not_queued" });
        return "done";
      }
      if (deps.clock.nowMs() - claimedAtMs > deps.claimToSendMs) {
        await giveBackClaim(record, fence);
        return "give_back";
      }
      offered?.dispatched();
      prepareFailures.delete(record.id);
      const log = deps.log.child({
        command_id: record.id,
        container_id: container.containerId,
        ...traceFields(record.traceparent),
      });
      log.info({ queue_wait_ms: claimedAtMs - (record.queuedAtMs ?? claimedAtMs) }, "command dispatched");
      if (claim.record.cancelRequested) active.cancel("cancelled");
      const result = await trace.step("run", () => runToResult(record, plan, container, active, claimedAtMs));
      if (result.outcome === "lost" && !(await isGone(record, container, claimedAtMs))) return "done";
      // The answer first: the engine's work for the removal would compete with it.
      const kept = await trace.step("persist", () => deps.held.persistEnd(record.id, fence, result));
      trace.note({ "bailiff.outcome": result.outcome, "bailiff.effect": result.effect });
      if (kept) {
        noteFinished(record, result);
      }
      deps.metrics.observe("bailiff_command_run_seconds", (result.usage?.wallMs ?? 0) / 1000, {
        outcome: result.outcome,
      });
      log.info({ outcome: result.outcome, effect: result.effect, kept }, "command finished");
      return "done";
    } finally {
      active.leave();
    }
  };

  /** Dispatches under the state it was checked over: a session that changes in between is checked again. */
  const dispatchAsChecked = async (
    record: CommandRecord,
    checked: DispatchPlan,
    container: ReadyContainer,
    trace: ExecutionTrace,
    offered: OfferedTerms | undefined,
  ): Promise<HandlerAnswer> => {
    let plan = checked;
    // What was approved must be what runs: making a container ready can have taken long enough to change a file.
    let isStale = record.approval !== undefined;
    for (let dispatches = 0; dispatches <= MAX_RECHECKS; dispatches += 1) {
      if (isStale) {
        const again = await trace.step("recheck", () => deps.recheck(record));
        if (again.kind === "refuse") return endUnstarted(record, neverStarted("denied", again.detail));
        plan = again.plan;
      }
      const answer = await dispatch(record, plan, container, trace, offered);
      if (answer !== "session_changed") return answer;
      isStale = true;
    }
    return "give_back";
  };

  const giveBackClaim = async (record: CommandRecord, fence: string): Promise<void> => {
    deps.metrics.count("bailiff_claims_given_back_total");
    await deps.held.voidFence(record.id, fence);
  };

  /**
   * An end that nothing proves may still be going on: no verdict before the container is gone, or its own time is over,
   * which bailiff-init enforces without us. False when this process ends first: then the verdict is the reconciler's.
   */
  const isGone = async (
    record: CommandRecord,
    container: ReadyContainer,
    claimedAtMs: number,
  ): Promise<boolean> => {
    const overAtMs = claimedAtMs + deps.claimToSendMs + record.request.timeoutMs + 2 * deps.limits.graceMs;
    let removed = false;
    const remove = async (): Promise<void> => {
      while (!removed && deps.clock.nowMs() < overAtMs && !deps.givesUp()) {
        try {
          await container.destroy();
          removed = true;
        } catch (error) {
          deps.metrics.count("bailiff_container_removal_failures_total");
          deps.log.warn(
            { command_id: record.id, container_id: container.containerId, err: error },
            "the container of a command without a proven end could not be removed yet",
          );
          await deps.pause(REMOVAL_PAUSE_MS);
        }
      }
    };
    const removing = remove();
    // One removal may itself outlast the command's time.
    while (!removed && deps.clock.nowMs() < overAtMs && !deps.givesUp()) {
      await Promise.race([removing, deps.pause(REMOVAL_PAUSE_MS)]);
    }
    if (removed || deps.clock.nowMs() >= overAtMs) return true;
    deps.metrics.count("bailiff_results_unwritten_total");
    return false;
  };

  /** Never rejects: whatever goes wrong behind the claim, the command must get an end. */
  const runToResult = async (
    record: CommandRecord,
    plan: DispatchPlan,
    container: ReadyContainer,
    active: ActiveCommand,
    claimedAtMs: number,
  ): Promise<CommandResult> => {
    const endWatch = deps.workspaces.watch(plan.purpose.workspacePath, (excess) => active.cancel(excess));
    try {
      const end = await container.run(processRequest(record, plan, deps.limits), active.signal);
      return resultOf(record, end, active.signal, deps.limits, deps.clock.nowMs() - claimedAtMs);
    } catch (error) {
      deps.log.error({ command_id: record.id, err: error }, "a dispatched command failed inside the worker");
      return unstartedResult(lost("the worker failed"));
    } finally {
      endWatch();
    }
  };

  const execute = async (
    record: CommandRecord,
    trace: ExecutionTrace,
    offered: OfferedTerms | undefined,
  ): Promise<HandlerAnswer> => {
    const recheck = await trace.step("recheck", () => deps.recheck(record));
    if (recheck.kind === "refuse") return endUnstarted(record, neverStarted("denied", recheck.detail));

    const { purpose } = recheck.plan;
    if (offered === undefined && (await deps.offer(record.id, purpose))) {
      trace.note({ "bailiff.handed_over": true });
      return "done";
    }

    let container: ReadyContainer | null;
    const startedAtMs = deps.clock.nowMs();
    try {
      container = await trace.step("container acquire", () =>
        offered === undefined
          ? deps.containers.acquire(
              purpose,
              AbortSignal.any([deps.draining, AbortSignal.timeout(ACQUIRE_LIMIT_MS)]),
            )
          : offered.acquire(purpose),
      );
    } catch (error) {
      // Given up by us, which says nothing about the engine.
      return deps.draining.aborted ? "give_back" : prepareFailed(record, error);
    }
    if (container === null) return "give_back";
    deps.metrics.observe("bailiff_container_acquire_seconds", (deps.clock.nowMs() - startedAtMs) / 1000);
    try {
      if (deps.draining.aborted) return "give_back";
      trace.note({ "container.id": container.containerId });
      return await dispatchAsChecked(record, recheck.plan, container, trace, offered);
    } finally {
      deps.containers.dispose(container);
    }
  };

  return async (commandId, offered) => {
    if (deps.draining.aborted) return "give_back";
    const record = await deps.commands.get(commandId);
    if (record === null || record.state !== "queued") return "done";
    if (record.queuedAtMs !== null && offered === undefined) {
      deps.metrics.observe("bailiff_queue_wait_seconds", (deps.clock.nowMs() - record.queuedAtMs) / 1000);
    }
    return traceExecution(deps, record, (trace) => execute(record, trace, offered));
  };
}

function processRequest(record: CommandRecord, plan: DispatchPlan, limits: ServiceLimits): ProcessRequest {
  return {
    argv: plan.argv,
    cwd: record.request.cwd,
    environment: plan.environment,
    timeoutMs: record.request.timeoutMs,
    stdoutCaptureBytes: limits.streamCaptureBytes,
    stdoutHardBytes: limits.streamHardBytes,
    stderrCaptureBytes: limits.streamCaptureBytes,
    stderrHardBytes: limits.streamHardBytes,
    graceMs: limits.graceMs,
  };
}

/** bailiff-init reports `terminated` for whoever told it to end: only where that was us is it a cancel. */
function endingOf(end: ProcessEnd, signal: AbortSignal): Ending {
  if (end.kind === "lost") return lost(end.detail);
  const ending = classifyReport(end.report);
  if (ending.outcome !== "cancelled") return ending;
  if (!signal.aborted) return lost("the container was told to end by somebody else");
  const reason = signal.reason as EndReason;
  if (reason === "cancelled") return ending;
  if (reason === "shutdown") return { ...ending, detail: "the worker was shut down" };
  return { ...ending, outcome: "output_limit_exceeded", detail: reason };
}

function resultOf(
  record: CommandRecord,
  end: ProcessEnd,
  signal: AbortSignal,
  limits: ServiceLimits,
  wallMs: number,
): CommandResult {
  return dispatchedResult({
    ending: endingOf(end, signal),
    stdout: end.stdout,
    stderr: end.stderr,
    report: end.kind === "report" ? end.report : null,
    request: record.request,
    serviceChars: limits.serviceChars,
    persistenceBytes: limits.persistenceBytes,
    gitHardened: record.decision.gitHardened,
    wallMs,
  });
}
