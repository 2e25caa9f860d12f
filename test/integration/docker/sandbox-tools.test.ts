import { afterAll, beforeAll, expect, test } from "vitest";
import { createDockerBench, type DockerBench } from "../../support/docker-bench.js";

let bench: DockerBench;
beforeAll(async () => {
  bench = await createDockerBench();
});
afterAll(() => bench.close());

const TRY_ALL = `
set -eu
git --version; rg --version; jq --version; make --version; python3 --version; pytest-3 --version; tree --version
printf '{ "scripts": { "test": "node -p process.version" } }' > package.json
npm test
printf 'all:\\n\\t@echo made\\n' > Makefile
make
`;

test("the sandbox image's tools run as a user without rights, on a read-only root and without a network", async () => {
  const { ending, stdout, stderr } = await bench.run(["sh", "-c", TRY_ALL]);
  expect({ ending, stderr }).toMatchObject({ ending: { outcome: "completed", returncode: 0 }, stderr: "" });
  expect(stdout).toMatch(/^v24\./m);
  expect(stdout).toMatch(/^made$/m);
});
