import { expect, test } from "vitest";
import { projectOf, quotaTerms } from "../../../src/domain/workspace-quota.js";

test("a project is a directory's inode number, and none where that is 0, the last id or larger", () => {
  expect([1n, 262_272n, 0xffff_fffen].map(projectOf)).toEqual([1, 262_272, 0xffff_fffe]);
  expect([0n, 0xffff_ffffn, 0x1_0000_0001n].map(projectOf)).toEqual([null, null, null]);
});

test("a quota never permits more bytes than the limit, and counts the workspace's own directory", () => {
  expect(quotaTerms({ bytes: 4_097, inodes: 20 })).toEqual({ kibibytes: 4, inodes: 21 });
});
