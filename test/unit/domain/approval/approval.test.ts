import { describe, expect, it } from "vitest";
import { approvalBinding, type BoundRequest } from "../../../../src/domain/approval/approval.js";

const REQUEST: BoundRequest = {
  tenant: "acme",
  sessionId: "ses_1",
  workspaceId: "repo",
  argv: ["sh", "build.sh"],
  cwd: "a",
  realCwd: "a",
  timeoutMs: 5_000,
  imageDigest: "sha256:00",
  label: { tenant: "acme", sensitivity: "normal", trust: "unknown", categories: ["x", "y"] },
  files: [
    { path: "a/build.sh", sha256: "11" },
    { path: "a/other.sh", sha256: null },
  ],
};

describe("what an approval binds", () => {
  it.each<[string, Partial<BoundRequest>]>([
    ["tenant", { tenant: "other" }],
    ["session", { sessionId: "ses_2" }],
    ["workspace", { workspaceId: "repo-2" }],
    ["an argument more", { argv: ["sh", "build.sh", "x"] }],
    ["arguments joined", { argv: ["sh build.sh"] }],
    ["timeout 5 to 6", { timeoutMs: 6_000 }],
    ["directory", { cwd: "b" }],
    ["where the directory leads", { realCwd: "b" }],
    ["image", { imageDigest: "sha256:01" }],
    ["label", { label: { tenant: "acme", sensitivity: "secret", trust: "unknown", categories: ["x", "y"] } }],
    ["no label", { label: null }],
    ["a file's content", { files: [{ path: "a/build.sh", sha256: "12" }] }],
    [
      "a file that came",
      { files: [REQUEST.files[0] ?? { path: "", sha256: "" }, { path: "a/other.sh", sha256: "13" }] },
    ],
  ])("is another request with another %s (FB-34)", (_what, change) => {
    expect(approvalBinding({ ...REQUEST, ...change })).not.toBe(approvalBinding(REQUEST));
  });

  it("is the same request whatever the order of keys, categories and files (FB-34)", () => {
    const { argv, tenant, ...rest } = REQUEST;
    const reordered: BoundRequest = {
      ...(Object.fromEntries(Object.entries(rest).reverse()) as typeof rest),
      files: [...REQUEST.files].reverse(),
      label: { categories: ["y", "x"], trust: "unknown", sensitivity: "normal", tenant: "acme" },
      tenant,
      argv,
    };
    expect(approvalBinding(reordered)).toBe(approvalBinding(REQUEST));
    expect(approvalBinding(REQUEST)).toMatch(/^[0-9a-f]{64}$/);
  });
});
