/** How a command ended. */
export type Outcome =
  | "completed"
  | "denied"
  | "approval_denied"
  | "approval_expired"
  | "cancelled"
  | "start_failed"
  | "timed_out"
  | "output_limit_exceeded"
  | "out_of_memory"
  | "lost";

/** What an outcome says about the outside world. */
export type Effect = "none" | "completed" | "unknown";

/** Which step of a start failed, and the errno's name (`ENOENT`, `EACCES`, `ENOEXEC` …). */
export interface StartFailure {
  readonly stage: "chdir" | "exec" | "setup" | "container";
  readonly errno: string;
  readonly message: string;
}

/** bailiff-init's final word about one command; every process of it was dead and reaped when it was written. */
export interface InitReport {
  readonly kind:
    | "exited"
    | "signaled"
    | "start_failed"
    | "timed_out"
    | "output_limit"
    | "terminated"
    | "owner_gone"
    | "bad_request"
    | "internal_error";
  readonly stage: "none" | "chdir" | "exec" | "setup" | "request";
  readonly limitStream: "stdout" | "stderr" | null;
  readonly errno: number;
  readonly exitCode: number | null;
  readonly signal: number | null;
  /** OOM kills in the container's cgroup during the command; null where the counter can't be read. */
  readonly oomKills: number | null;
  readonly stdoutBytes: number;
  readonly stderrBytes: number;
  /** Lower-case hexadecimal, over every byte seen. */
  readonly stdoutSha256: string;
  readonly stderrSha256: string;
  readonly wallMs: number;
  readonly cpuMs: number | null;
  readonly peakMemoryBytes: number | null;
  readonly message: string;
}

/** The classified end of a dispatched command. */
export interface Ending {
  readonly outcome: Outcome;
  readonly effect: Effect;
  readonly returncode: number | null;
  readonly signal: string | null;
  readonly startFailure: StartFailure | null;
  /** Why, for `lost` and for an ending that the service forced; a constant text, never caller data. */
  readonly detail: string | null;
}

const SIGNAL_NAMES: Readonly<Record<number, string>> = {
  1: "SIGHUP",
  2: "SIGINT",
  3: "SIGQUIT",
  4: "SIGILL",
  5: "SIGTRAP",
  6: "SIGABRT",
  7: "SIGBUS",
  8: "SIGFPE",
  9: "SIGKILL",
  10: "SIGUSR1",
  11: "SIGSEGV",
  12: "SIGUSR2",
  13: "SIGPIPE",
  14: "SIGALRM",
  15: "SIGTERM",
  16: "SIGSTKFLT",
  17: "SIGCHLD",
  18: "SIGCONT",
  19: "SIGSTOP",
  20: "SIGTSTP",
  21: "SIGTTIN",
  22: "SIGTTOU",
  23: "SIGURG",
  24: "SIGXCPU",
  25: "SIGXFSZ",
  26: "SIGVTALRM",
  27: "SIGPROF",
  28: "SIGWINCH",
  29: "SIGIO",
  30: "SIGPWR",
  31: "SIGSYS",
};

const ERRNO_NAMES: Readonly<Record<number, string>> = {
  1: "EPERM",
  2: "ENOENT",
  5: "EIO",
  7: "E2BIG",
  8: "ENOEXEC",
  11: "EAGAIN",
  12: "ENOMEM",
  13: "EACCES",
  14: "EFAULT",
  20: "ENOTDIR",
  21: "EISDIR",
  22: "EINVAL",
  23: "ENFILE",
  24: "EMFILE",
  26: "ETXTBSY",
  30: "EROFS",
  36: "ENAMETOOLONG",
  40: "ELOOP",
  80: "ELIBBAD",
};

const START_MESSAGES: Readonly<Record<string, string>> = {
  ENOENT: "not found",
  EACCES: "not executable or not permitted",
  ENOEXEC: "not a program this system can execute (bad format)",
  ENOTDIR: "a component of the path is not a directory",
  ELOOP: "too many symbolic links",
  ETXTBSY: "the file is open for writing",
  ENOMEM: "not enough memory to start",
  EAGAIN: "too many processes to start",
};

/** `SIGKILL` for 9; real-time and unknown numbers as `SIG<n>`. */
export function signalName(signal: number): string {
  return SIGNAL_NAMES[signal] ?? `SIG${signal}`;
}

const unknown = (outcome: Outcome, detail: string | null): Ending => ({
  outcome,
  effect: "unknown",
  returncode: null,
  signal: null,
  startFailure: null,
  detail,
});

/** The verdict on a report. Total: a report that proves nothing is `lost` with effect `unknown`. */
export function classifyReport(report: InitReport): Ending {
  switch (report.kind) {
    case "exited":
      return {
        outcome: "completed",
        effect: "completed",
        returncode: report.exitCode,
        signal: null,
        startFailure: null,
        detail: null,
      };
    case "signaled": {
      const signal = report.signal ?? 0;
      // A SIGKILL that neither we nor the command sent is the kernel's: only then did memory end the command itself.
      if (signal === 9 && (report.oomKills ?? 0) > 0) return unknown("out_of_memory", null);
      return {
        outcome: "completed",
        effect: "completed",
        returncode: 128 + signal,
        signal: signalName(signal),
        startFailure: null,
        detail: null,
      };
    }
    case "start_failed": {
      const errno = ERRNO_NAMES[report.errno] ?? `errno ${report.errno}`;
      const stage = report.stage === "chdir" || report.stage === "exec" ? report.stage : "setup";
      const what =
        stage === "chdir" ? "the session's directory" : stage === "exec" ? "argv[0]" : "the process";
      return {
        outcome: "start_failed",
        effect: "none",
        returncode: null,
        signal: null,
        startFailure: { stage, errno, message: `${what}: ${START_MESSAGES[errno] ?? errno}` },
        detail: null,
      };
    }
    case "timed_out":
      return unknown("timed_out", null);
    case "output_limit":
      return unknown("output_limit_exceeded", report.limitStream);
    case "terminated":
      return unknown("cancelled", null);
    case "owner_gone":
      return unknown("lost", "the worker's connection to the container ended");
    case "bad_request":
      return {
        outcome: "start_failed",
        effect: "none",
        returncode: null,
        signal: null,
        startFailure: { stage: "setup", errno: "EINVAL", message: "bailiff-init refused the request" },
        detail: null,
      };
    case "internal_error":
      return unknown("lost", "bailiff-init failed");
  }
}

/** A command whose end nothing proves. `detail` is a constant text. */
export function lost(detail: string): Ending {
  return unknown("lost", detail);
}

/** A command that never started. */
export function neverStarted(
  outcome: "cancelled" | "denied" | "approval_denied" | "approval_expired",
  detail: string | null,
): Ending {
  return { outcome, effect: "none", returncode: null, signal: null, startFailure: null, detail };
}
