import type { InitReport } from "../../domain/outcome.js";
import type { CapturedStream } from "../../domain/output.js";
import type {
  ContainerPurpose,
  ProcessEnd,
  ProcessRequest,
  ReadyContainer,
} from "../../ports/container-runtime.js";
import type { Log } from "../../ports/telemetry.js";
import type { EngineClient } from "./engine-client.js";
import { WORKSPACE_TARGET } from "./host-config.js";
import type { InitChannel } from "./init-channel.js";
import { encodeCancel, encodeRequest } from "./init-frames.js";
import { removeContainer } from "./remove-container.js";
import { createStreamCapture, type StreamCapture } from "./stream-capture.js";

/** How often the loop is turned to take in what had already arrived when a timer fired. */
const LATE_TURNS = 64;

/** What a started container is made of. */
export interface ReadyContainerParts {
  readonly engine: EngineClient;
  readonly channel: InitChannel;
  readonly containerId: string;
  readonly purpose: ContainerPurpose;
  readonly createdAtMs: number;
  readonly log: Log;
}

const NOTHING: CapturedStream = { bytes: new Uint8Array(0), seenBytes: 0, sha256: null };

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Whether a hard cap was passed without init having ended the command for it. */
function contradictsLimits(report: InitReport, request: ProcessRequest): boolean {
  if (report.kind === "output_limit") return false;
  return report.stdoutBytes > request.stdoutHardBytes || report.stderrBytes > request.stderrHardBytes;
}

/** The container past READY. It owns the channel; destroying it ends both. */
export function createReadyContainer(parts: ReadyContainerParts): ReadyContainer {
  const { engine, channel, containerId, purpose, createdAtMs, log } = parts;
  let used = false;
  let destroying: Promise<void> | null = null;

  /** Stops whatever may still run and says what the engine knows. Bounded by the deadlines of three calls. */
  const stopUnproven = async (): Promise<string> => {
    channel.close();
    const state = await engine.inspect(containerId).catch(() => undefined);
    if (state === null) return "; the container is gone";
    if (state !== undefined && !state.running) {
      const how = state.oomKilled ? "out of memory" : `exit status ${state.exitCode}`;
      return `; the container had ended (${how})`;
    }
    try {
      await engine.kill(containerId);
    } catch {
      return "; the engine did not confirm the kill";
    }
    // The engine notices an end after the stream does: only now it may know that memory was the reason.
    const after = await engine.inspect(containerId).catch(() => null);
    return after?.oomKilled === true ? "; the container had run out of memory" : "";
  };

  const exchange = async (request: ProcessRequest, signal: AbortSignal): Promise<ProcessEnd> => {
    const stdout = createStreamCapture(request.stdoutCaptureBytes);
    const stderr = createStreamCapture(request.stderrCaptureBytes);
    let frame: Buffer;
    try {
      frame = encodeRequest({
        argv: request.argv,
        cwd: request.cwd === "." ? WORKSPACE_TARGET : `${WORKSPACE_TARGET}/${request.cwd}`,
        environment: request.environment,
        uid: purpose.uid,
        gid: purpose.gid,
        timeoutMs: request.timeoutMs,
        stdoutCaptureBytes: request.stdoutCaptureBytes,
        stdoutHardBytes: request.stdoutHardBytes,
        stderrCaptureBytes: request.stderrCaptureBytes,
        stderrHardBytes: request.stderrHardBytes,
      });
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      channel.close();
      return { kind: "lost", detail: `nothing was sent: ${error.message}`, stdout: NOTHING, stderr: NOTHING };
    }

    const heard = await new Promise<InitReport | string>((resolve) => {
      let timer: NodeJS.Timeout | undefined;
      let over = false;
      const finish = (heardNow: InitReport | string) => {
        if (over) return;
        over = true;
        clearTimeout(timer);
        signal.removeEventListener("abort", cancel);
        resolve(heardNow);
      };
      /** A timer of a loop that was blocked fires before the report that waits in the socket is read. */
      const expire = async (detail: string) => {
        for (
          let turns = 0, before = -1;
          turns < LATE_TURNS && before !== channel.receivedBytes();
          turns += 1
        ) {
          before = channel.receivedBytes();
          await turn();
          await turn();
        }
        finish(detail);
      };
      const within = (delayMs: number, detail: string) => {
        clearTimeout(timer);
        timer = setTimeout(() => void expire(detail), delayMs);
      };
      const cancel = () => {
        channel.send(encodeCancel());
        within(request.graceMs, "no report inside grace after the cancel");
      };
      channel.listen({
        stdout: (slice) => stdout.write(slice),
        stderr: (slice) => stderr.write(slice),
        report: finish,
        closed: (violation) => finish(violation ?? "the attach stream ended without a report"),
      });
      if (over) return;
      if (signal.aborted) {
        // A cancel alone: init answers `terminated` and never ran anything.
        cancel();
        return;
      }
      signal.addEventListener("abort", cancel, { once: true });
      channel.send(frame);
      within(request.timeoutMs + request.graceMs, "no report inside timeout and grace");
    });

    if (typeof heard === "string") return lost(`${heard}${await stopUnproven()}`, stdout, stderr);
    if (contradictsLimits(heard, request)) return lost("the report contradicts the limits", stdout, stderr);
    const settledOut = stdout.settle(heard.stdoutBytes, heard.stdoutSha256);
    const settledErr = stderr.settle(heard.stderrBytes, heard.stderrSha256);
    if (typeof settledOut === "string") return lost(settledOut, stdout, stderr);
    if (typeof settledErr === "string") return lost(settledErr, stdout, stderr);
    return { kind: "report", report: heard, stdout: settledOut, stderr: settledErr };
  };

  const lost = (detail: string, stdout: StreamCapture, stderr: StreamCapture): ProcessEnd => ({
    kind: "lost",
    detail,
    stdout: stdout.partial(),
    stderr: stderr.partial(),
  });

  return {
    containerId,
    purpose,
    createdAtMs,
    isHealthy: () => !used && destroying === null && channel.isOpen(),
    async answers(withinMs) {
      if (used || destroying !== null) return false;
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<boolean>((resolve) => {
        timer = setTimeout(() => resolve(false), withinMs);
      });
      const answered = channel.ping().then(
        () => true,
        () => false,
      );
      const alive = await Promise.race([answered, late]);
      clearTimeout(timer);
      return alive && !used && destroying === null && channel.isOpen();
    },
    async run(request, signal) {
      if (used || destroying !== null) {
        return { kind: "lost", detail: "the container was used before", stdout: NOTHING, stderr: NOTHING };
      }
      used = true;
      const end = await exchange(request, signal);
      if (end.kind === "lost") {
        log.warn(
          { container_id: containerId, detail: end.detail, stray: channel.strayText() },
          "command lost",
        );
      }
      return end;
    },
    destroy() {
      channel.close();
      destroying ??= removeContainer(engine, containerId).catch((error: unknown) => {
        // A later call, or the sweeper, may try again.
        destroying = null;
        throw error;
      });
      return destroying;
    },
  };
}
