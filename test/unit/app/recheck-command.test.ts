import { expect, test } from "vitest";
import { createBindRequest } from "../../../src/app/approvals/bind-request.js";
import { createDecider } from "../../../src/app/decide/decider.js";
import { createRecheckCommand } from "../../../src/app/execute/recheck-command.js";
import { CHANGED_DETAIL } from "../../../src/domain/approval/approval.js";
import type { CommandRecord } from "../../../src/domain/command.js";
import { lexicalOnlyFacts } from "../../../src/domain/containment/workspace-facts.js";
import type { Session } from "../../../src/domain/session.js";
import type { WorkspaceExcess } from "../../../src/domain/workspace-growth.js";
import type { SessionStore } from "../../../src/ports/session-store.js";
import { WorkspaceFault, type WorkspaceStore } from "../../../src/ports/workspace-store.js";
import { anAskedRecord } from "../../support/asked-command.js";
import { policyOf } from "../../support/policy/decision-request.js";
import { aRecord, aSession } from "../../support/redis-fixtures.js";

const IMAGE = `sha256:${"0".repeat(64)}`;

const policyThat = (verdict: string) =>
  policyOf(`
version: 1
rules:
  - id: tool
    decision: ${verdict}
    pattern: [tool]
    reason: the tool is ruled about
    justification: Shows which policy a worker holds
    match: [[tool], [tool, x]]
    not_match: [[other], [other, tool]]
`);

/** A worker's look at one command, over parts that a test may change between its admission and its dispatch. */
function aWorker() {
  const now = {
    session: aSession({ grant: { level: "allowlist", dispatchesLeft: 0 } }) as Session | null,
    policy: policyThat("allow"),
    image: IMAGE,
    missing: false,
    excess: null as WorkspaceExcess | null,
  };
  const clock = { nowMs: () => 1_000 };
  const policy = {
    current: () => now.policy,
    problem: () => null,
    reload: async () => undefined,
    close: async () => undefined,
  };
  const workspaces = {
    locate: async () => {
      if (now.missing) throw new WorkspaceFault("not_a_directory", "the workspace is no directory");
      return { path: "/w", identity: "1:1:0", uid: 1, gid: 1 };
    },
    facts: async () => lexicalOnlyFacts,
    contents: async () => ({ realCwd: ".", files: [] }),
  } as unknown as WorkspaceStore;
  const sessions = {
    get: async () => now.session,
    objectLabels: async () => [],
  } as unknown as SessionStore;
  const bind = createBindRequest({ workspaces });
  const deciderNow = () =>
    createDecider({ policy, images: { default: now.image }, workspaces, sessions, clock });
  const recheck = (record: CommandRecord) =>
    createRecheckCommand({
      decider: deciderNow(),
      bind,
      sessions,
      workspaces,
      fullWorkspaces: { refuses: async () => now.excess },
      repositoryFacts: async () => ({
        dotGit: "missing",
        configs: [],
        hasAlternates: false,
        hasLinks: false,
      }),
      environment: {},
      clock,
      graceMs: 0,
    })(record);
  const session = now.session ?? aSession();
  const request = { ...aRecord(session).request, argv: ["tool", "x"] };
  return {
    now,
    recheck,
    /** A command that the policy allowed. */
    allowed: () => aRecord(session, { request, imageDigest: IMAGE }),
    /** A command that the policy asks about and that a person has approved. */
    async approved() {
      now.policy = policyThat("ask");
      const { decision } = await deciderNow().decide({
        session,
        scopes: new Set(["commands:write"]),
        request,
        grant: { ...session.grant, dispatchesLeft: null },
      });
      expect(decision.verdict).toBe("ask");
      const bound = await bind({ session, request, decision, imageDigest: IMAGE });
      if (!bound.ok) throw new Error(bound.reason);
      return anAskedRecord(session, { request, imageDigest: IMAGE, binding: bound.binding });
    },
  };
}

test("an allowed command goes on while nothing has changed, its own reservation not counted against it", async () => {
  const { recheck, allowed } = aWorker();
  expect(await recheck(allowed())).toMatchObject({ kind: "proceed", plan: { argv: ["tool", "x"] } });
});

test.each([
  ["deny", "at dispatch: the tool is ruled about"],
  ["ask", "at dispatch: the policy now asks for an approval"],
])("a policy that has become stricter meanwhile holds: %s", async (verdict, detail) => {
  const { now, recheck, allowed } = aWorker();
  const record = allowed();
  now.policy = policyThat(verdict);
  expect(await recheck(record)).toEqual({ kind: "refuse", detail });
});

test("a workspace that is far over its limit takes no command", async () => {
  const { now, recheck, allowed } = aWorker();
  now.excess = "workspace_inodes";
  expect(await recheck(allowed())).toEqual({
    kind: "refuse",
    detail: "at dispatch: the workspace is far over its limit (workspace_inodes)",
  });
});

test("an approval is worth nothing once the policy denies what it approved (FB-35)", async () => {
  const { now, recheck, approved } = aWorker();
  const record = await approved();
  expect((await recheck(record)).kind).toBe("proceed");
  now.policy = policyThat("deny");
  expect(await recheck(record)).toEqual({ kind: "refuse", detail: "at dispatch: the tool is ruled about" });
});

test("an approval does not cover another timeout, argument or image (FB-34)", async () => {
  const { now, recheck, approved } = aWorker();
  const record = await approved();
  const { request } = record;
  for (const changed of [
    { ...request, timeoutMs: request.timeoutMs + 1 },
    { ...request, argv: [...request.argv, "y"] },
  ]) {
    expect(await recheck({ ...record, request: changed })).toMatchObject({
      kind: "refuse",
      detail: CHANGED_DETAIL,
    });
  }
  now.image = `sha256:${"1".repeat(64)}`;
  expect(await recheck(record)).toMatchObject({ kind: "refuse", detail: CHANGED_DETAIL });
});

test("an image, a session or a workspace that is not what it was refuses", async () => {
  const { now, recheck, allowed } = aWorker();
  const record = allowed();
  now.image = `sha256:${"1".repeat(64)}`;
  expect(await recheck(record)).toMatchObject({
    detail: "at dispatch: the profile's image is another one now",
  });
  now.missing = true;
  expect(await recheck(record)).toMatchObject({ detail: "at dispatch: the workspace is no directory" });
  now.session = null;
  expect(await recheck(record)).toMatchObject({ detail: "at dispatch: the session is gone" });
});
