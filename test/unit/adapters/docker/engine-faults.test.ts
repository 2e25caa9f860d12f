import { describe, expect, it } from "vitest";
import { type EngineOperation, engineFault } from "../../../../src/adapters/docker/engine-faults.js";
import { RuntimeFault } from "../../../../src/ports/container-runtime.js";

const answered = (statusCode: number) => Object.assign(new Error("/srv/secret is missing"), { statusCode });

describe("an engine's failure", () => {
  it.each<[EngineOperation, number, RuntimeFault["code"]]>([
    ["create", 404, "image_missing"],
    ["image_inspect", 404, "image_missing"],
    ["create", 400, "mount_refused"],
    ["create", 409, "refused"],
    ["create", 500, "refused"],
    ["start", 404, "refused"],
    ["start", 400, "refused"],
    ["attach", 404, "refused"],
    ["remove", 500, "refused"],
  ])("is told by operation and status: %s %i is %s", (operation, status, code) => {
    const fault = engineFault(operation, answered(status));
    expect(fault).toBeInstanceOf(RuntimeFault);
    expect(fault).toMatchObject({ code, operation });
    expect(fault.message).toContain(String(status));
  });

  it("without an answer is unreachable", () => {
    for (const error of [new Error("connect ECONNREFUSED"), null, "text", { statusCode: "404" }]) {
      expect(engineFault("start", error).code).toBe("unreachable");
    }
  });

  it("keeps what the engine said out of the message and in the cause", () => {
    const error = answered(400);
    const fault = engineFault("create", error);
    expect(fault.message).not.toContain("secret");
    expect(fault.cause).toBe(error);
  });

  it("stays itself when it is a fault already", () => {
    const fault = new RuntimeFault("deadline", "start", "start: late");
    expect(engineFault("create", fault)).toBe(fault);
  });
});
