import { readFile, realpath } from "node:fs/promises";
import { loadPolicy } from "../adapters/policy-file/load-policy.js";
import { resolveFacts } from "../adapters/workspace-fs/resolve-facts.js";
import type { LoadedPolicy, PolicyAccess, PolicyCase } from "../cli/policy-commands.js";
import { lexicalOnlyFacts } from "../domain/containment/workspace-facts.js";
import { initialLabel } from "../domain/data-flow/data-flow.js";
import { UNLIMITED_BUDGET } from "../domain/decision/budget-verdict.js";
import { decide, pathCandidates } from "../domain/pipeline.js";
import type { CompiledPolicy } from "../domain/policy/compiled-policy.js";
import { DEFAULT_POLICY_PATH } from "./foundation.js";

/** Stands for the image of a profile that an offline explanation does not have. */
const NO_IMAGE = `sha256:${"0".repeat(64)}`;
const TENANT = "explain";

/** Policies from files for the policy commands. */
export function createPolicyAccess(nowMs: () => number): PolicyAccess {
  return {
    async load(files) {
      const names = files.length === 0 ? [DEFAULT_POLICY_PATH] : files;
      const texts = await Promise.all(
        names.map(async (name) => ({ name, text: await readFile(name, "utf8") })),
      );
      const loaded = loadPolicy(texts);
      return loaded.ok ? asLoaded(loaded.policy, nowMs) : loaded.problems;
    },
    async readCases(file) {
      const lines = (await readFile(file, "utf8")).split("\n");
      return lines.flatMap((line, index): PolicyCase[] =>
        line.trim() === "" ? [] : [readCase(line, file, index + 1)],
      );
    },
  };
}

function asLoaded(policy: CompiledPolicy, nowMs: () => number): LoadedPolicy {
  return {
    version: policy.version,
    rules: policy.document.rules.length,
    async decide({ argv, cwd, level, workspace }) {
      const workspaceFacts =
        workspace === null
          ? lexicalOnlyFacts
          : await resolveFacts(await realpath(workspace), pathCandidates({ argv, cwd }, policy));
      return decide(
        {
          argv,
          cwd,
          authorization: {
            scopes: new Set(["commands:write"]),
            principalTenant: TENANT,
            sessionTenant: TENANT,
          },
          grant: {
            level,
            revoked: false,
            expiresAtMs: null,
            dispatchesLeft: null,
            executables: null,
            vectors: [],
          },
          nowMs: nowMs(),
          profile: { name: "explain", imageDigest: NO_IMAGE, networkCapable: false, readOnlyRoots: [] },
          workspaceFacts,
          sessionLabel: initialLabel(policy, TENANT),
          sourceLabels: [],
          budget: UNLIMITED_BUDGET,
        },
        policy,
      );
    },
  };
}

function readCase(line: string, file: string, number: number): PolicyCase {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw new Error(`${file}:${number}: not a JSON object`);
  }
  const { id, argv, cwd } = (value ?? {}) as { id?: unknown; argv?: unknown; cwd?: unknown };
  if (!Array.isArray(argv)) throw new Error(`${file}:${number}: argv must be a list of strings`);
  return {
    id: typeof id === "string" ? id : `line ${number}`,
    argv,
    cwd: typeof cwd === "string" ? cwd : ".",
  };
}
