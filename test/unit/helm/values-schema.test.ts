import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { valuesSchema } from "../../support/helm/values-schema.js";

const CHART = fileURLToPath(new URL("../../../helm/bailiff", import.meta.url));

it("the chart's schema of values has Bailiff's configuration as Bailiff's own schema has it", async () => {
  const file = `${CHART}/values.schema.json`;
  await expect(valuesSchema(await readFile(file, "utf8"))).toMatchFileSnapshot(file);
});

it("the chart ships the default policy as it is", async () => {
  const policy = fileURLToPath(new URL("../../../policy/default.yaml", import.meta.url));
  await expect(await readFile(policy, "utf8")).toMatchFileSnapshot(`${CHART}/files/default-policy.yaml`);
});
