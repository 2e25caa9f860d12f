import { expect, test } from "vitest";
import { fileSystemOf } from "../../../../src/adapters/project-quota/mounted-file-system.js";

const MOUNTS = [
  "22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw",
  "30 22 7:0 / /srv rw,relatime shared:9 - xfs /dev/loop0 rw,noquota",
  "31 30 7:1 / /srv/work\\040spaces rw - xfs /dev/loop1 rw,attr2,prjquota",
  "32 22 7:2 / /counted rw - xfs /dev/loop2 rw,pqnoenforce",
  "33 22 7:3 / /twice rw - xfs /dev/loop3 rw,prjquota",
  "34 22 7:4 / /twice rw master:3 - ext4 /dev/loop4 rw",
  "",
].join("\n");

test.each([
  ["/srv/work spaces/acme/a", "/srv/work spaces", "/dev/loop1", true],
  ["/srv/work spaces", "/srv/work spaces", "/dev/loop1", true],
  ["/srv/work spaces-2", "/srv", "/dev/loop0", false],
  ["/elsewhere", "/", "/dev/vda", false],
  ["/counted/a", "/counted", "/dev/loop2", false],
  ["/twice/a", "/twice", "/dev/loop4", false],
])(
  "the file system of %s is the one mounted nearest and last, with the quota it enforces",
  (path, mountPoint, device, enforcesProjects) => {
    expect(fileSystemOf(path, MOUNTS)).toMatchObject({ mountPoint, device, enforcesProjects });
  },
);

test("a text that is no list of mounts names no file system", () => {
  expect(fileSystemOf("/srv", "nothing - of the\nkind")).toBeNull();
});
