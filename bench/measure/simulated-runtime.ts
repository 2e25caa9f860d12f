import type { ContainerRuntime, ReadyContainer } from "../../src/ports/container-runtime.js";

const EMPTY_SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
const NOTHING = { bytes: new Uint8Array(0), seenBytes: 0, sha256: EMPTY_SHA256 };

/** A runtime without an engine, whose every command takes `containerMs`: what is measured is all that is around it. */
export function createSimulatedRuntime(containerMs: number): ContainerRuntime {
  let made = 0;
  return {
    async prepare(purpose) {
      made += 1;
      const container: ReadyContainer = {
        containerId: `simulated-${made}`,
        purpose,
        createdAtMs: Date.now(),
        isHealthy: () => true,
        answers: async () => true,
        async run() {
          await new Promise((resolve) => setTimeout(resolve, containerMs));
          return {
            kind: "report",
            stdout: NOTHING,
            stderr: NOTHING,
            report: {
              kind: "exited",
              stage: "none",
              limitStream: null,
              errno: 0,
              exitCode: 0,
              signal: null,
              oomKills: 0,
              stdoutBytes: 0,
              stderrBytes: 0,
              stdoutSha256: EMPTY_SHA256,
              stderrSha256: EMPTY_SHA256,
              wallMs: containerMs,
              cpuMs: null,
              peakMemoryBytes: null,
              message: "",
            },
          };
        },
        destroy: async () => undefined,
      };
      return container;
    },
    list: async () => [],
    remove: async () => undefined,
    probe: async () => ({
      engineId: "simulated",
      apiVersion: "simulated",
      engineVersion: "simulated",
      cgroupVersion: "simulated",
      problems: [],
      warnings: [],
    }),
    settled: async () => undefined,
    close: async () => undefined,
  };
}
