import { describe, expect, it } from "vitest";
import { requireNode } from "../../../scripts/setup/node-modules.mjs";

describe("the Node.js that set-up accepts", () => {
  it.each(["20.19.0", "20.20.2", "21.0.0", "24.1.0"])("is new enough at %s", (version) => {
    expect(() => requireNode(version)).not.toThrow();
  });

  it.each(["20.18.9", "18.20.4", "9.99.0"])("is refused by name at %s", (version) => {
    expect(() => requireNode(version)).toThrow(`Node.js ${version} is too old: 20.19 or newer is needed.`);
  });
});
