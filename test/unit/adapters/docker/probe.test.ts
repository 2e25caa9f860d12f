import { describe, expect, it } from "vitest";
import { abilityProblems, sentinelProblem } from "../../../../src/adapters/docker/probe.js";
import type { InitReport } from "../../../../src/domain/outcome.js";
import type { ProcessEnd } from "../../../../src/ports/container-runtime.js";
import { anInitReport } from "../../../support/init-report.js";

const fit = {
  engineId: "A",
  memoryLimit: true,
  swapLimit: true,
  pidsLimit: true,
  cpuQuota: true,
  cgroupDriver: "systemd",
  cgroupVersion: "2",
  securityOptions: ["name=apparmor", "name=seccomp,profile=builtin"],
  runtimes: ["runc"],
};

describe("what an engine can enforce", () => {
  it("is enough when it has limits and seccomp", () => {
    expect(abilityProblems(fit)).toEqual([]);
  });

  it.each([
    [{ memoryLimit: false }, "memory"],
    [{ pidsLimit: false }, "processes"],
    [{ cpuQuota: false }, "CPU"],
    [{ cgroupDriver: "none" }, "cgroup driver"],
    [{ securityOptions: [] }, "seccomp"],
    [{ securityOptions: ["name=seccomp,profile=unconfined"] }, "unconfined"],
  ])("is a problem with %j", (lacking, word) => {
    expect(abilityProblems({ ...fit, ...lacking })).toEqual([expect.stringContaining(word)]);
  });
});

describe("the sentinel", () => {
  const stream = (text: string) => ({ bytes: Buffer.from(text), seenBytes: text.length, sha256: null });
  const end = (overrides: Partial<InitReport>, text = ""): ProcessEnd => ({
    kind: "report",
    report: anInitReport(overrides),
    stdout: stream(text),
    stderr: stream(""),
  });
  const unstarted = { kind: "start_failed", exitCode: null } as const;

  it("read back is proof", () => {
    expect(sentinelProblem(end({}, "secret"), "secret")).toBeNull();
  });

  it("needs no cat in the image: its directory could be entered", () => {
    expect(sentinelProblem(end({ ...unstarted, stage: "exec", errno: 2 }), "secret")).toBeNull();
  });

  it.each<[string, ProcessEnd, string]>([
    ["other bytes", end({}, "other"), "does not see the workspaces root"],
    ["nothing", end({ exitCode: 1 }), "does not see the workspaces root"],
    ["no directory", end({ ...unstarted, stage: "chdir", errno: 2 }), "does not see the workspaces root"],
    ["a directory of another", end({ ...unstarted, stage: "chdir", errno: 13 }), "maps user ids"],
    [
      "a lost container",
      { kind: "lost", detail: "why", stdout: stream(""), stderr: stream("") },
      "lost: why",
    ],
  ])("is a problem with %s (FB-41)", (_, seen, words) => {
    expect(sentinelProblem(seen, "secret")).toContain(words);
  });
});
