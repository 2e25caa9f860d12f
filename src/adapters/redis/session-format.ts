import type { Label } from "../../domain/data-flow/label.js";
import type { Session } from "../../domain/session.js";

/** The fields of a session's hash. What is used up or changes has a field of its own; the rest is one document. */
export function writeSession(session: Session): Record<string, string> {
  const fields: Record<string, string> = {
    formatVersion: "1",
    tenant: session.tenant,
    cwd: session.cwd,
    label: writeLabel(session.label),
    version: String(session.version),
    revoked: session.grant.revoked ? "1" : "0",
    document: JSON.stringify(session),
  };
  if (session.grant.expiresAtMs !== null) fields["expiresAtMs"] = String(session.grant.expiresAtMs);
  if (session.grant.dispatchesLeft !== null) fields["dispatchesLeft"] = String(session.grant.dispatchesLeft);
  const { wallMsLeft, cpuMsLeft, queued, concurrent } = session.budget;
  for (const [name, bound] of Object.entries({ wallMsLeft, cpuMsLeft, queued, concurrent })) {
    if (bound !== null) fields[name] = String(bound);
  }
  session.grant.vectors.forEach((vector, i) => {
    if (vector.usesLeft !== null) fields[usesField(i)] = String(vector.usesLeft);
  });
  return fields;
}

/** The session in a hash as it is now, or null when there is none. */
export function readSession(fields: Readonly<Record<string, string>>): Session | null {
  const document = fields["document"];
  if (document === undefined) return null;
  if (fields["formatVersion"] !== "1") throw new Error("session record written by a newer Bailiff");
  const session: Session = JSON.parse(document);
  const left = (name: string) => (fields[name] === undefined ? null : Number(fields[name]));
  return {
    ...session,
    cwd: fields["cwd"] ?? session.cwd,
    label: fields["label"] === undefined ? session.label : readLabel(fields["label"]),
    version: Number(fields["version"] ?? session.version),
    budget: { ...session.budget, wallMsLeft: left("wallMsLeft"), cpuMsLeft: left("cpuMsLeft") },
    grant: {
      ...session.grant,
      revoked: fields["revoked"] === "1",
      dispatchesLeft: left("dispatchesLeft"),
      vectors: session.grant.vectors.map((vector, i) => {
        const uses = fields[usesField(i)];
        return { ...vector, usesLeft: uses === undefined ? null : Number(uses) };
      }),
    },
  };
}

function usesField(index: number): string {
  return `uses:${index}`;
}

/** A label as text; equal labels are equal texts, which scripts compare. */
export function writeLabel({ sensitivity, trust, categories, tenant }: Label): string {
  return JSON.stringify({ sensitivity, trust, categories, tenant });
}

/** The label in a text of `writeLabel`. */
export function readLabel(text: string): Label {
  return JSON.parse(text);
}
