import { describe, expect, it } from "vitest";
import { chooseApiVersion } from "../../../../src/adapters/docker/negotiate-api-version.js";

describe("the API version", () => {
  it.each([
    ["1.41", "1.41"],
    ["1.44", "1.44"],
    ["1.51", "1.51"],
    ["1.56", "1.51"],
    ["1.100", "1.51"],
    ["2.0", "1.51"],
  ])("for an engine that offers %s is %s", (offered, chosen) => {
    expect(chooseApiVersion(offered)).toBe(chosen);
  });

  it.each(["1.40", "1.9", "0.99"])("is refused as too old: %s", (offered) => {
    expect(() => chooseApiVersion(offered)).toThrow("1.41 or newer");
  });

  it.each(["", "1", "v1.41", "1.41.0", "x.y", "1.41\r\nX: y"])(
    "is refused when it is none: %j",
    (offered) => {
      expect(() => chooseApiVersion(offered)).toThrow("does not say");
    },
  );
});
