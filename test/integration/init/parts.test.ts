import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const directory = fileURLToPath(new URL("../../../images/init", import.meta.url));

test("bailiff-init's own tests of the parts that judge bytes or calls pass under both sanitizers", async () => {
  const { stdout } = await promisify(execFile)("make", ["-C", directory, "test"], { timeout: 110_000 });
  expect(stdout).toContain("attributes-test");
  expect(stdout).toContain("request-test");
});
