import { expect, it } from "vitest";
import { policyJsonSchema } from "../../../../src/domain/policy/policy-json-schema.js";

const PUBLISHED = "../../../../policy/policy.schema.json";

it("is the schema published for editors (`npx vitest run -u` on this file publishes a change)", async () => {
  await expect(`${JSON.stringify(policyJsonSchema(), null, 2)}\n`).toMatchFileSnapshot(PUBLISHED);
});

it("describes strict objects: an editor marks an unknown key", () => {
  const schema = policyJsonSchema();
  expect(schema).toMatchObject({ type: "object", additionalProperties: false, required: ["version"] });
});
