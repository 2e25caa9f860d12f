import { expect, it } from "vitest";
import { configurationPage } from "../../support/configuration-page.js";

it("docs/configuration.md says what the schema says", async () => {
  await expect(configurationPage()).toMatchFileSnapshot("../../../docs/configuration.md");
});
