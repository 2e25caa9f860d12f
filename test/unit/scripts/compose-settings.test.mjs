import { expect, test } from "vitest";
import { mergeSettings } from "../../../scripts/setup/compose-settings.mjs";

test("set-up's lines of .env are replaced, and an operator's stay", () => {
  const text = "# mine\nBAILIFF_PORT=9000\nDOCKER_GID=1\n";
  expect(mergeSettings(text, { DOCKER_GID: "106", COMPOSE_PROJECT_NAME: "bailiff" })).toBe(
    "# mine\nBAILIFF_PORT=9000\nDOCKER_GID=106\nCOMPOSE_PROJECT_NAME=bailiff\n",
  );
  expect(mergeSettings("", { DOCKER_GID: "106" })).toBe("DOCKER_GID=106\n");
});
