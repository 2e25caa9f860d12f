import { expect, test } from "vitest";
import {
  parseLimits,
  parseProject,
  runQuotaProgram,
} from "../../../../src/adapters/project-quota/quota-programs.js";

test.each([
  ["262272 -------------------P-- /mnt/x/w1\n", { project: 262_272, isInherited: true }],
  ["   14 --------------e----P-- /mnt/e/r s/w1\n", { project: 14, isInherited: true }],
  ["    0 ---------------------- /mnt/P/w2\n", { project: 0, isInherited: false }],
  ["lsattr: Operation not supported\n", null],
  ["", null],
])("what lsattr prints is a project, or nothing that is understood: %j", (printed, project) => {
  expect(parseProject(printed)).toEqual(project);
});

const QUOTA = `Disk quotas for project #14 (pid 14): 
     Filesystem  blocks   quota   limit   grace   files   quota   limit   grace
      /dev/sda1       0       0       0       0       0       0       0       0
      /dev/sda2    4096*      0    4096       0       1       0      20       0
`;

test("limits are read of the device that is asked for, also where they are reached", () => {
  expect(parseLimits(QUOTA, "/dev/sda2")).toEqual({ kibibytes: 4_096, inodes: 20 });
  expect(parseLimits(QUOTA, "/dev/sda1")).toEqual({ kibibytes: 0, inodes: 0 });
  expect(parseLimits(QUOTA, "/dev/sda")).toBeNull();
  expect(parseLimits("", "/dev/sda1")).toBeNull();
});

test("a program gets its argv as it is, without a shell and without Bailiff's environment", async () => {
  expect(await runQuotaProgram("printf", ["%s|", "$HOME", "a b", "; id"])).toBe("$HOME|a b|; id|");
  expect(await runQuotaProgram("env", [])).toBe(
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\nLC_ALL=C\n",
  );
});

test("one that is missing or fails says so in one plain line", async () => {
  await expect(runQuotaProgram("no-such-quota-program", [])).rejects.toThrow(
    "no-such-quota-program is not installed",
  );
  await expect(runQuotaProgram("ls", ["/no\u001bthing"])).rejects.toThrow(/^ls failed: [\x20-\x7e]+$/);
});
