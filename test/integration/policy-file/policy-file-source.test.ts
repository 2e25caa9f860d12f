import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  createPolicyFileSource,
  PolicyUnusable,
} from "../../../src/adapters/policy-file/policy-file-source.js";
import type { Log, Metrics } from "../../../src/ports/telemetry.js";

let directory: string;
let path: string;
const counted: string[] = [];
const log: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {}, child: () => log };
const metrics: Metrics = {
  count: (name, labels) => void counted.push(`${name} ${labels?.["result"]}`),
  observe: () => {},
  gauge: (name, value) => void counted.push(`${name} ${value}`),
};
const document = (decision: string) => `
version: 1
rules:
  - id: tool
    decision: ${decision}
    pattern: [tool]
    reason: A rule of this test
    justification: Shows which document is in force
    match: [[tool], [tool, x]]
    not_match: [[other], [other, tool]]
`;
const open = (intervalMs = 600_000) => createPolicyFileSource({ paths: [path], intervalMs, log, metrics });

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "bailiff-policy-"));
  path = join(directory, "policy.yaml");
  counted.length = 0;
});

afterEach(() => rm(directory, { recursive: true }));

test("a changed document comes into force as a whole, with another version", async () => {
  await writeFile(path, document("ask"));
  const source = await open();
  const before = source.current();
  await writeFile(path, document("deny"));
  expect(source.current()).toBe(before);
  await source.reload();
  expect(source.current().version).not.toBe(before.version);
  expect(source.current().document.rules[0]?.decision).toBe("deny");
  expect(counted).toContain("bailiff_policy_reloads_total loaded");
  await source.close();
});

test("a bad document leaves the old one in force and is seen; a good one clears that", async () => {
  await writeFile(path, document("ask"));
  const source = await open();
  const before = source.current();
  await writeFile(path, document("maybe"));
  await source.reload();
  expect(source.current()).toBe(before);
  expect(source.problem()).toMatch(/policy\.yaml:\d+:\d+: \[tool\]/);
  expect(counted).toContain("bailiff_policy_reloads_total refused");
  expect(counted.at(-1)).toBe("bailiff_policy_problem 1");
  await rm(path);
  await source.reload();
  expect(source.current()).toBe(before);
  expect(source.problem()).toContain("ENOENT");
  await writeFile(path, document("deny"));
  await source.reload();
  expect(source.problem()).toBeNull();
  expect(counted.at(-1)).toBe("bailiff_policy_problem 0");
  await source.close();
});

test("going back to the document in force after a bad one clears the problem", async () => {
  await writeFile(path, document("ask"));
  const source = await open();
  await writeFile(path, "{");
  await source.reload();
  expect(source.problem()).not.toBeNull();
  await writeFile(path, document("ask"));
  await source.reload();
  expect(source.problem()).toBeNull();
  await source.close();
});

test("a change is noticed without being told", async () => {
  await writeFile(path, document("ask"));
  const source = await open(50);
  await writeFile(path, document("deny"));
  await expect.poll(() => source.current().document.rules[0]?.decision, { timeout: 10_000 }).toBe("deny");
  await source.close();
});

test("there is no start without a policy", async () => {
  await expect(open()).rejects.toBeInstanceOf(PolicyUnusable);
  await writeFile(path, document("maybe"));
  await expect(open()).rejects.toThrow(/rule|\[tool\]/);
});
