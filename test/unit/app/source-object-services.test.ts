import { describe, expect, test } from "vitest";
import type { LabelWords } from "../../../src/app/services.js";
import { createSourceObjectServices } from "../../../src/app/sessions/source-object-services.js";
import type { Label } from "../../../src/domain/data-flow/label.js";
import type { BailiffError } from "../../../src/domain/errors.js";
import type { Principal, Scope } from "../../../src/ports/authenticator.js";
import type { PolicySource } from "../../../src/ports/policy-source.js";
import type { SessionStore } from "../../../src/ports/session-store.js";
import { defaultPolicyText, policyOf } from "../../support/policy/decision-request.js";
import { aSession } from "../../support/redis-fixtures.js";

const policy = policyOf(defaultPolicyText().replace("categories: []", "categories: [health, pii]"));
const session = aSession();
const principal = (scopes: readonly Scope[], tenant = "acme"): Principal => ({
  id: "p",
  tenant,
  scopes: new Set(scopes),
  method: "api_key",
});
const orchestrator = principal(["sessions:write", "sessions:read"]);
const words = (sensitivity: string, trust = "unknown", categories: readonly string[] = []): LabelWords => ({
  sensitivity,
  trust,
  categories,
});

/** The services over a store in memory; `beforePut` acts between the look at a label and the change of it. */
function services(beforePut: (labels: Map<string, Label>) => void = () => undefined) {
  const labels = new Map<string, Label>();
  const sessions = {
    get: async (tenant: string, id: string) =>
      tenant === session.tenant && id === session.id ? session : null,
    objectLabels: async (_tenant: string, _id: string, ids: readonly string[]) =>
      ids.map((id) => labels.get(id) ?? null),
    putObject: async ({ objectId, expected, label }: Parameters<SessionStore["putObject"]>[0]) => {
      beforePut(labels);
      if ((labels.get(objectId) ?? null) !== expected) return "changed_meanwhile";
      labels.set(objectId, label);
      return "done";
    },
  } as unknown as SessionStore;
  return createSourceObjectServices({
    sessions,
    policy: { current: () => policy } as unknown as PolicySource,
  });
}

const refusalOf = (work: Promise<unknown>) =>
  work.then(
    () => null,
    (error: BailiffError) => error,
  );

describe("a source object", () => {
  test("is labelled once, and again only higher", async () => {
    const { putSourceObject, getSourceObject } = services();
    const put = (label: LabelWords) => putSourceObject(orchestrator, session.id, "o1", label);
    expect(await put(words("normal"))).toMatchObject({ created: true });
    expect(await put(words("normal"))).toMatchObject({ created: false });
    expect(await put(words("secret", "untrusted", ["pii", "health", "pii"]))).toMatchObject({
      created: false,
    });
    for (const lower of [
      words("normal", "untrusted", ["health", "pii"]),
      words("secret", "trusted", ["health", "pii"]),
      words("secret", "untrusted"),
    ]) {
      expect(await refusalOf(put(lower))).toMatchObject({ code: "conflict" });
    }
    expect(await getSourceObject(orchestrator, session.id, "o1")).toEqual({
      objectId: "o1",
      label: { sensitivity: "secret", trust: "untrusted", categories: ["health", "pii"], tenant: "acme" },
    });
  });

  test("is refused with every word that the policy does not define", async () => {
    const { putSourceObject } = services();
    const refusal = await refusalOf(
      putSourceObject(orchestrator, session.id, "o1", words("top", "blind", ["pii", "x"])),
    );
    expect(refusal?.code).toBe("invalid_request");
    expect(refusal?.faults.map((fault) => fault.path)).toEqual(["/sensitivity", "/trust", "/categories/1"]);
  });

  test("that somebody else raised meanwhile is compared again, and not lowered", async () => {
    let others = 1;
    const { putSourceObject } = services((labels) => {
      if (others-- > 0) labels.set("o1", { ...words("secret"), tenant: "acme" });
    });
    const refusal = await refusalOf(putSourceObject(orchestrator, session.id, "o1", words("normal")));
    expect(refusal?.code).toBe("conflict");
  });

  test("belongs to its tenant, and is not the agent's to label", async () => {
    const { putSourceObject, getSourceObject } = services();
    const put = (who: Principal) => refusalOf(putSourceObject(who, session.id, "o1", words("normal")));
    expect((await put(principal(["commands:write", "sessions:read"])))?.code).toBe("insufficient_scope");
    expect((await put(principal(["admin"], "other")))?.code).toBe("not_found");
    expect((await refusalOf(getSourceObject(orchestrator, session.id, "o1")))?.code).toBe("not_found");
    expect((await refusalOf(putSourceObject(orchestrator, session.id, "../x", words("normal"))))?.code).toBe(
      "invalid_request",
    );
  });
});
