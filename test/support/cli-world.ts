import type { CliWorld } from "../../src/cli/cli-command.js";

/** A world for a command-line test: what was written, and a way to press Ctrl-C. */
export function createCliWorld(more: { env?: Record<string, string>; terminal?: boolean } = {}): CliWorld & {
  readonly out: () => string;
  readonly err: () => string;
  readonly interrupt: () => void;
} {
  const written = { out: "", err: "" };
  const callbacks = new Set<() => void>();
  const stream = (name: "out" | "err") => ({
    isTerminal: more.terminal ?? false,
    write: (text: string) => {
      written[name] += text;
    },
  });
  return {
    stdout: stream("out"),
    stderr: stream("err"),
    env: more.env ?? {},
    onInterrupt: (callback) => {
      callbacks.add(callback);
      return () => callbacks.delete(callback);
    },
    out: () => written.out,
    err: () => written.err,
    interrupt: () => {
      for (const callback of callbacks) callback();
    },
  };
}
