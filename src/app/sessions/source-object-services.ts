import { type Label, type LabelScales, labelStep } from "../../domain/data-flow/label.js";
import { BailiffError, type FieldFault } from "../../domain/errors.js";
import type { Session } from "../../domain/session.js";
import type { Principal } from "../../ports/authenticator.js";
import type { PolicySource } from "../../ports/policy-source.js";
import type { SessionStore } from "../../ports/session-store.js";
import { notFound, requireId, requireName, requireScope } from "../access.js";
import type { BailiffServices, LabelWords } from "../services.js";

/** More objects than an agent reads in one session; bounds what a session takes of the store. */
const MAX_OBJECTS = 10_000;

/** How often a label is compared again because another request changed it in between. */
const MAX_TRIES = 5;

/** Use cases on what the agent has read. A label is evidence: it can be raised, never lowered. */
export function createSourceObjectServices(deps: {
  readonly sessions: SessionStore;
  readonly policy: PolicySource;
}): Pick<BailiffServices, "putSourceObject" | "getSourceObject"> {
  const find = async (principal: Principal, sessionId: string): Promise<Session> => {
    requireId("ses", "session", sessionId);
    const session = await deps.sessions.get(principal.tenant, sessionId);
    if (session === null) throw notFound("session");
    return session;
  };
  const labelOf = async (session: Session, objectId: string): Promise<Label | null> =>
    (await deps.sessions.objectLabels(session.tenant, session.id, [objectId]))[0] ?? null;

  return {
    async putSourceObject(principal, sessionId, objectId, words) {
      requireScope(principal, "sessions:write");
      requireName("/object_id", objectId);
      const session = await find(principal, sessionId);
      const { scales } = deps.policy.current();
      const label = labelFromWords(words, session.tenant, scales);
      for (let tries = 0; tries < MAX_TRIES; tries += 1) {
        const expected = await labelOf(session, objectId);
        const step = expected === null ? "up" : labelStep(expected, label, scales);
        if (step === "down") {
          throw new BailiffError("conflict", "the object's label may only rise; it stays as it is");
        }
        if (step === "unknown") {
          throw new BailiffError(
            "conflict",
            "the object's label has a word that the policy no longer defines",
          );
        }
        const answer = await deps.sessions.putObject({
          tenant: session.tenant,
          sessionId,
          objectId,
          expected,
          label,
          maxObjects: MAX_OBJECTS,
        });
        if (answer === "done") return { objectId, label, created: expected === null };
        if (answer === "session_gone") throw notFound("session");
        if (answer === "too_many") {
          throw new BailiffError("conflict", `a session has at most ${MAX_OBJECTS} source objects`);
        }
      }
      throw new BailiffError("conflict", "the object's label kept changing; look at it, then decide");
    },

    async getSourceObject(principal, sessionId, objectId) {
      requireScope(principal, "sessions:read");
      requireName("/object_id", objectId);
      const session = await find(principal, sessionId);
      const label = await labelOf(session, objectId);
      if (label === null) throw notFound("source object");
      return { objectId, label };
    },
  };
}

/** Throws `invalid_request` that names every field with a word the policy does not define. */
function labelFromWords(words: LabelWords, tenant: string, scales: LabelScales): Label {
  const faults: FieldFault[] = [];
  const check = (path: string, word: string, known: readonly string[]) => {
    if (known.includes(word)) return;
    faults.push({
      path,
      message: known.length === 0 ? "the policy defines none" : `must be one of ${known.join(", ")}`,
    });
  };
  check("/sensitivity", words.sensitivity, scales.sensitivity);
  check("/trust", words.trust, scales.trust);
  for (const [i, category] of words.categories.entries()) {
    check(`/categories/${i}`, category, scales.categories);
  }
  if (faults.length > 0)
    throw new BailiffError("invalid_request", "the request is not valid", { faults: faults.slice(0, 16) });
  return { ...words, categories: [...new Set(words.categories)].sort(), tenant };
}
